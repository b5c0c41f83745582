"""Laws of several classes over independent units: one duel with each rival."""
