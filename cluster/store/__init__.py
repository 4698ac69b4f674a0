"""The only package that writes rows: one write is one transaction, index and frame."""
