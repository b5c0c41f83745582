"""Laws of independent units: what is unknown is a sum of independent costs."""
