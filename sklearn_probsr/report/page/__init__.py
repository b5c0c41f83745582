"""The page: one HTML file of a comparison, and what it is made of."""
