"""Tries whether this machine can give a task a root of its own, by giving `true` one.

In: nothing. Out: nothing where it can; else what the kernel refused, on the standard output, and
exit code 1. Standard library only; run as a process of its own, as the driver does.
"""

import os
import pwd
import sys
import tempfile
from pathlib import Path

from cluster.agent import task_child, task_root


def main() -> int:
    """Run `true` as nobody, in a root below a directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bivouac-probe-") as directory:
        try:
            _try(Path(directory))
        except (OSError, KeyError, task_child.NotStarted) as problem:
            sys.stdout.write(str(problem))
            return 1
    return 0


def _try(directory: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    for name in ("root", "alloc/logs"):
        (directory / name).mkdir(parents=True)
    spec = {
        "argv": ["true"],
        "directory": "/",
        "env": {},
        "user": {"uid": nobody.pw_uid, "gid": nobody.pw_gid, "groups": [nobody.pw_gid]},
        "rights": {"bounds": [], "kept": []},
        "root": {
            "directory": str(directory / "root"),
            "shared": str(directory / "alloc"),
            "logs": str(directory / "alloc" / "logs"),
            "host": list(task_root.default_places()),
            "hidden": [],
            "mounts": [],
        },
    }
    task_root.leave_numbers()
    child = task_child.start(spec, (0, 1, 2), task_root.settle_in_root)
    _, status = os.waitpid(child, 0)
    if status:
        raise task_child.NotStarted(f"a command ended with {status}")


if __name__ == "__main__":
    sys.exit(main())
