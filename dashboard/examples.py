"""The job files a person can start from: `examples/`, read once."""

import msgspec

from cluster.installation import SHARED_FILES

_SUFFIX = ".nomad.hcl"
#: In the order they teach.
_ORDER = ("hello", "comes-back", "batch-count", "too-big", "mock-web")


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its name, what its first comment says, and the whole text."""

    name: str
    title: str
    text: str


def _read() -> tuple[Example, ...]:
    folder = SHARED_FILES / "examples"
    files = {path.name.removesuffix(_SUFFIX): path for path in folder.glob(f"*{_SUFFIX}")}
    names = [name for name in _ORDER if name in files]
    names += sorted(set(files).difference(names))
    return tuple(_example(name, files[name].read_text(encoding="utf-8")) for name in names)


def _example(name: str, text: str) -> Example:
    comments = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        comments.append(line.lstrip("# "))
    return Example(name=name, title=" ".join(comments), text=text)


EXAMPLES = _read()
