"""Classifiers: the scores by which each kind decides, linear or sums of functions."""
