"""What programs import that talk to a Bivouac: the client, and nothing of the server."""
