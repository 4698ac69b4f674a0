"""A job as people write it, made into a Job as the engine reads it.

In: JSON or HCL text, or a decoded request. Out: a canonical `Job`, its differences from another
one, and every problem at once, with its place. Knows nothing of Django, of the record, or of
clocks.
"""
