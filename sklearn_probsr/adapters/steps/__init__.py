"""Steps of a pipeline: what each kind of transformer makes of the columns that reach it."""
