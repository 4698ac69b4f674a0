"""What one page shows, read in a fixed number of queries."""
