"""The mind: pure scheduling. Standard library, NumPy and msgspec only; no clock, chance or I/O."""
