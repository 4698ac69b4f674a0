"""The nouns: frozen structs and enums with their wire names. They import nothing else of ours."""
