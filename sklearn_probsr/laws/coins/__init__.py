"""Laws of fair coins: every unknown feature is 0 or 1 with the same chance."""
