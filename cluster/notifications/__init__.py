"""What people are told of beyond the pages: what holds, in words, and the way it goes out."""
