"""The moves of a simulated cluster: one file for each who moves, `table.py` for all."""
