"""Templates of a task: files and variables made from what the cluster knows, and kept up to it."""
