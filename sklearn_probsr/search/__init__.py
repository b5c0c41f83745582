"""Searches: which features, how few, and with what proof."""
