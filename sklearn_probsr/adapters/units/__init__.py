"""From columns to units: the raw column of each, its states, and what these are called."""
