"""Building a plan, and judging one.

`generic` and `system` build; the applier judges. Nothing here chooses a node or stores a row.
"""
