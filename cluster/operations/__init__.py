"""The verbs. Every change of state enters the house here, from any door, as one transaction."""
