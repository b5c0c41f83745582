"""Frames: rows as they come in, and reasons as they go out."""
