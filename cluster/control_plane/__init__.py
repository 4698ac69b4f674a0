"""Leader, applier and workers in one process, over a record in memory and virtual time.

What simulation and rehearsal share: the real parts, and whoever drives them says when each acts.
"""
