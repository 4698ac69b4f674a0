"""Devices of a node that tasks may have for themselves: graphics cards and accelerators."""
