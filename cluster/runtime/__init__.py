"""Where pure parts meet Redis, Celery and time: the composition root. Wiring only."""
