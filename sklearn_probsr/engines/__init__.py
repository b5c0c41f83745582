"""Engines: probabilities with a proof, one folder for each kind of sum."""
