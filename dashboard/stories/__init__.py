"""What a story is made of: its name, its evaluations, its phases, what is to be said of it."""
