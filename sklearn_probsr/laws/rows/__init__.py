"""Laws of background rows: what is unknown comes from a row of the data, together."""
