"""What must hold whatever happens: after each write, after each round, and once all is quiet."""
