"""Benchmarks: speed and memory against stated targets. Run `python -m tests.benchmarks`."""
