"""A simulated fleet: thousands of nodes over the real agent protocol."""
