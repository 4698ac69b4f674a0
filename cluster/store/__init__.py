"""The only room that writes rows: one write is one transaction, index and frame."""
