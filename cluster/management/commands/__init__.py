"""Commands: argument parsing, then one call."""
