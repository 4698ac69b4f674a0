"""What runs a task: one driver per kind of task, behind one protocol."""
