"""What every law has in common: views, options, answers, and which law there is."""
