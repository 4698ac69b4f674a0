"""The instruments that reconcile, feasibility, rank and plan share."""
