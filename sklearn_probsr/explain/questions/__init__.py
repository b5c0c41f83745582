"""What an explainer answers of rows as they come, beside their reasons."""
