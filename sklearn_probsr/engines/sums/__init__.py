"""Sums of independent finite variables: how likely is one at most a capacity."""
