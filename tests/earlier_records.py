"""Small records of earlier versions, one for each release; `tests.keep_record` makes them."""

import lzma
from pathlib import Path

FOLDER = Path(__file__).parent / "vectors" / "records"
_ENDING = ".sqlite3.xz"
VERSIONS = sorted(path.name.removesuffix(_ENDING) for path in FOLDER.glob(f"*{_ENDING}"))


def unpack(version: str, place: Path) -> None:
    """Put the record of a version there."""
    place.write_bytes(lzma.decompress((FOLDER / f"{version}{_ENDING}").read_bytes()))
