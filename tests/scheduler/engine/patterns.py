"""A pattern matcher for tests: the standard library's patterns, which agree on simple ones."""

import re


class Patterns:
    def search(self, pattern: str, text: str) -> bool:
        try:
            return re.search(pattern, text) is not None
        except re.error:
            return False
