"""The nouns: frozen structs and enums with their wire names; of ours they import only errors."""
