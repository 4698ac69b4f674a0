"""Pure queues of evaluations and plans. Time is passed in."""
