"""Subjects: what is explained, and the way from the rows that a user has to those of a model."""
