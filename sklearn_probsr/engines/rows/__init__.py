"""Counts over rows of data: how many keep the class when some facts are known."""
