"""The recordings that ours are compared with: where they are, and how they are read."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"


def lines_of(path: Path) -> Iterator[dict]:
    """The JSON objects of a gzipped file, one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
