"""The verbs: what people, programs and agents change, from any door, each one transaction."""
