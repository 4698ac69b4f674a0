"""Read by Python when a process starts: hides what is installed for development alone.

Where this directory is on PYTHONPATH, a module named in BIVOUAC_TEST_HIDDEN (names with commas
between) cannot be imported, as where only the product's own lock was installed.
"""

import os
import sys
from collections.abc import Sequence


class _Hidden:
    """Stands before the finders of Python."""

    def __init__(self, names: str) -> None:
        self._names = frozenset(names.split(","))

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: object = None) -> None:
        if name in self._names:
            told = f"{name} is installed, but not by requirements.lock"
            raise ModuleNotFoundError(told, name=name)


sys.meta_path.insert(0, _Hidden(os.environ.get("BIVOUAC_TEST_HIDDEN", "")))
