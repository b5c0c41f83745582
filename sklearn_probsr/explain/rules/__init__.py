"""Rules of many rows, in the terms of the rows that an explainer takes."""
