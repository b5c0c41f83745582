"""Sums of fair coins: is a random subset of given values at most a capacity."""
