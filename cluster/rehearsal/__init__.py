"""What would happen: the real scheduler asked about a copy of the cluster, before it happens."""
