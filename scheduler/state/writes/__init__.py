"""What one write does to other tables: the rules of the record, on any open change.

Each function takes the `Change` first, stamps indexes itself, and leaves committing to its caller.
"""
