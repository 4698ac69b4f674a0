"""One change each, named for it."""
