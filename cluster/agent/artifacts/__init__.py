"""What a task has fetched before it starts: where from, checked how, kept within its bounds."""
