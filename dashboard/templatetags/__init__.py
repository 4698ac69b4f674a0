"""Template tags: how pages write statuses, times, amounts and ids."""
