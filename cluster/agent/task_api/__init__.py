"""The cluster's API inside a task: a socket in its secrets, requests through to the server."""
