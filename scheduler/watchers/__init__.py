"""What only the leader does as time passes; each watcher turns a tick into commands."""
