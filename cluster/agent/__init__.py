"""Both ends of the node protocol. The node end knows no Django; the server end is a door."""
