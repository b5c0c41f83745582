"""Rules: reasons whose facts are widened as far as their guarantee allows."""
