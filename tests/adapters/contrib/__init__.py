"""Tests with the libraries that the extra "packages" installs; each skips where it is not there."""
