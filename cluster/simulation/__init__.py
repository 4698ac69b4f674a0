"""The whole control plane in one thread under virtual time: the real parts, on a record in memory.

Whoever wants to know whether the laws hold enters here: the command `simulate`, tests. Everything
that could differ from run to run comes from a seed; no database is asked.
"""
