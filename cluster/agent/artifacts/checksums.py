"""Whether a download is what its job says: `type:hex`, or a list of sums fetched beside it."""

import hashlib
import hmac
import re
from collections.abc import Callable
from pathlib import Path

from cluster.agent.artifacts.order import ArtifactRefused

_BITS = {"md5": 128, "sha1": 160, "sha256": 256, "sha512": 512}
#: `<hex>  [*]name`, as coreutils write it, and `SHA256 (name) = <hex>`.
_LINE = re.compile(r"^([0-9a-fA-F]{32,128})(?:\s+[* ]?(.+))?$")
_TAGGED = re.compile(r"^(\w+) \((.+)\) = ([0-9a-fA-F]{32,128})$")


def check(file: Path, name: str, checksum: str, read: Callable[[str], str]) -> None:
    """Raise ArtifactRefused unless the file has that sum.

    `name`: what the file was called at its source; `read(url)`: the text of a list of sums.
    """
    if not checksum:
        return
    kind, _, wanted = checksum.partition(":")
    if kind == "file":
        kind, wanted = _listed(read(wanted), name)
    if kind not in _BITS:
        raise ArtifactRefused(f"unsupported checksum type: {kind}")
    if len(wanted) * 4 != _BITS[kind]:
        raise ArtifactRefused(f"invalid {kind} checksum: {wanted}")
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, kind).hexdigest()
    if not hmac.compare_digest(found, wanted.lower()):
        raise ArtifactRefused(f"Checksums did not match: expected {wanted.lower()}, got {found}")


def _listed(text: str, name: str) -> tuple[str, str]:
    """The sum of that name in a list; of a list of one sum without names, that one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        tagged = _TAGGED.match(line)
        if tagged and Path(tagged[2]).name == name:
            return tagged[1].lower(), tagged[3]
        plain = _LINE.match(line)
        if plain and (Path(plain[2]).name == name if plain[2] else len(lines) == 1):
            return _kind_of(plain[1]), plain[1]
    raise ArtifactRefused(f"the list of checksums has none for {name}")


def _kind_of(digits: str) -> str:
    sizes = {bits: kind for kind, bits in _BITS.items()}
    return sizes.get(len(digits) * 4, "unknown")
