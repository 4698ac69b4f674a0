"""What a process has to be started with to find no more than `requirements.lock` installs.

The tools of the tests bring libraries of their own; what runs must not lean on them unseen.
"""

import re
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What measures coverage inside the processes, and what the extra `gpu` asks for.
BESIDE = re.compile(r"coverage|pytest-cov|nvidia-ml-py")


def environment() -> dict[str, str]:
    """Variables for a process that Python runs in; see `tests/as_installed/sitecustomize.py`."""
    return {
        "PYTHONPATH": str(ROOT / "tests" / "as_installed"),
        "BIVOUAC_TEST_HIDDEN": ",".join(_hidden()),
    }


@cache
def _hidden() -> tuple[str, ...]:
    lock = (ROOT / "requirements.lock").read_text()
    locked = {_plain(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    return tuple(
        sorted(
            module
            for module, packages in packages_distributions().items()
            if not any(
                _plain(each) in locked or BESIDE.fullmatch(_plain(each)) for each in packages
            )
        )
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
