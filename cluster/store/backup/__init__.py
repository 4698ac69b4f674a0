"""The whole record in one file, and back: the same form from SQLite and from PostgreSQL."""
