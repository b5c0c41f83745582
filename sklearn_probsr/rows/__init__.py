"""Rows of a data set that take the place of what is unknown, counted exactly."""
