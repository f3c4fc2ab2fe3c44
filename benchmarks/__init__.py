"""Measurements: `python -m benchmarks.<name>` prints a table and writes it under `results/`."""
