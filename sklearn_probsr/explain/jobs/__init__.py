"""Jobs: many rows in pieces, which processes and machines can share."""
