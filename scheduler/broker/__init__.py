"""The waiting rooms: pure queues of evaluations and plans. Time is passed in."""
