"""Distributions: what a user passes to say who may replace an unknown feature."""
