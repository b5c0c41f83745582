"""Independent unknown features: spectra, exact counts, and the law of fair coins."""
