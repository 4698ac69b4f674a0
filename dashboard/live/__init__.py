"""Event log to browser: events become frames, frames go to sockets. Writes nothing."""
