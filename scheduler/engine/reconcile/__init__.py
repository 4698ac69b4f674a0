"""Desired against real: what of a job must be stopped, kept, changed or added.

Entered by `generic` and `system` only. Looks at no node's free room and chooses no node.
"""
