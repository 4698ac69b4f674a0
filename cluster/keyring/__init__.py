"""Keys of the cluster's own and the tokens signed with them; for operations and the API."""
