"""The process that fetches one artifact: `python -m cluster.agent.artifacts.worker`.

In: a `FetchOrder` as JSON on its standard input. Out: lines of JSON on its standard output: how
far it is (`{"received": 5, "expected": 9}`), at the end `{"done": true}` or `{"error": "..."}`. It
may write in the allocation's directory alone, ends with the agent, and can be killed at any time:
nothing is put in place before all of it was fetched and looked through.
"""

import ctypes
import os
import shutil
import signal
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cluster.agent.artifacts import checksums, landlock, placing
from cluster.agent.artifacts.git_source import clone
from cluster.agent.artifacts.http_source import HttpSource, name_of
from cluster.agent.artifacts.order import ArtifactRefused, FetchOrder
from cluster.agent.artifacts.unpack import kind_of, unpack

_END_WITH_PARENT = 1
#: Bytes between two words about how far it is.
_TELL_EVERY = 4 * 1024 * 1024
#: What reading over a network takes: programs, libraries, names of hosts, certificates.
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/run", "/proc", "/dev")


def main() -> int:
    """Fetch what standard input says. 0 when all of it is in its place."""
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=FetchOrder)
    staging = Path(order.staging)
    try:
        staging.mkdir(parents=True)
        _stay_within(order)
        carry_out(order, staging)
    except ArtifactRefused as problem:
        _tell({"error": str(problem)})
        return 1
    except OSError as problem:
        _tell({"error": f"{problem.strerror or problem}: {problem.filename or order.destination}"})
        return 1
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _tell({"done": True})
    return 0


def carry_out(order: FetchOrder, staging: Path) -> None:
    """Fetch, check, unpack, look through, put in place. Raises ArtifactRefused and OSError."""
    tree, destination, bounds = staging / "tree", Path(order.destination), Path(order.bounds)
    if order.getter == "git":
        if order.mode == "file":
            raise ArtifactRefused("a repository is a directory, and mode file wants one file")
        clone(order, tree, staging)
    else:
        _download(order, staging, tree)
    wanted = tree / order.part if order.part else tree
    if not wanted.resolve().is_relative_to(tree.resolve()) or not wanted.exists():
        raise ArtifactRefused(f"{order.part} is not in what was fetched")
    placing.look_through(tree)
    if order.mode == "file" or wanted.is_file():
        whole = _only_file(wanted)
        if order.mode != "file":
            destination /= whole.name
        placing.put_file(whole, destination, bounds)
    else:
        placing.put_tree(wanted, destination, bounds)
    if order.owner and os.geteuid() == 0:
        placing.give(destination, bounds, order.owner)


def _download(order: FetchOrder, staging: Path, tree: Path) -> None:
    place = staging / "download"
    place.mkdir()
    source = HttpSource(order)
    try:
        file = source.fetch(place, _Teller())
        # The name at the source tells how it is packed, whatever it is to be called here.
        name = name_of(order.url) or file.name
        checksums.check(file, name, order.options.get("checksum", ""), source.text)
    finally:
        source.close()
    kind = kind_of(name, order.options.get("archive", ""))
    if kind:
        unpack(file, kind, tree, order.limits)
    elif order.mode == "dir":
        raise ArtifactRefused(f"{name} is no archive, and mode dir wants a directory")
    else:
        tree.mkdir()
        file.replace(tree / file.name)


def _only_file(place: Path) -> Path:
    if place.is_file():
        return place
    files = [inner for inner in place.rglob("*") if not inner.is_dir()]
    if len(files) != 1:
        raise ArtifactRefused(f"expected a single file, got {len(files)} files")
    return files[0]


class _Teller:
    """Says how far it is, now and then."""

    def __init__(self) -> None:
        self._next = _TELL_EVERY

    def __call__(self, received: int, expected: int) -> None:
        if received >= self._next:
            self._next = received + _TELL_EVERY
            _tell({"received": received, "expected": expected})


def _tell(line: Mapping[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def _stay_within(order: FetchOrder) -> None:
    """Lock everything else away, where the kernel can."""
    own = {Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib", "platlib")}
    code = Path(__file__).resolve().parents[3]
    home = Path.home()
    reading = [
        *map(Path, _SYSTEM),
        *own,
        Path(sys.prefix),
        Path(sys.base_prefix),
        code / "cluster",
    ]
    reading += [code / "scheduler", *(home / name for name in (".ssh", ".gitconfig", ".netrc"))]
    landlock.keep_to(reading=reading, writing=[Path(order.bounds), Path("/dev/null")])


if __name__ == "__main__":
    sys.exit(main())
