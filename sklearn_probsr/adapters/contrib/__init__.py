"""Adapters of other libraries, none of which is imported here."""
