"""Whether this Bivouac is a checkout or an installed wheel, and what follows from it.

In: nothing but where this file lies, and the environment. Out: where files that are no Python
lie, where data goes, how a process of ours is started, and what people type to start one.
"""

import os
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

#: What must be on Python's path.
CODE = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (CODE / "manage.py").is_file() and (CODE / "pyproject.toml").is_file()
#: Holds `static`, `templates` and `examples`; a wheel carries them inside a package.
SHARED_FILES = CODE if IS_CHECKOUT else CODE / "cluster" / "shared_files"


def our_version() -> str:
    """Bivouac's version: of a checkout as `pyproject.toml` has it, else as it was installed."""
    if not IS_CHECKOUT:
        return version("bivouac")
    project = tomllib.loads((CODE / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def usual_data_directory() -> Path:
    """Where data goes when BIVOUAC_DATA_DIR does not say it."""
    return CODE / ".bivouac" if IS_CHECKOUT else _user_data() / "bivouac"


def usual_demo_directory() -> Path:
    """The same of a demo, which has a record of its own."""
    return CODE / ".bivouac-demo" if IS_CHECKOUT else _user_data() / "bivouac-demo"


def usual_agent_directory() -> str:
    """Where an agent keeps its state and its tasks' files; of a checkout from where one stands."""
    return ".bivouac/agent" if IS_CHECKOUT else str(usual_data_directory() / "agent")


def program(*words: str) -> tuple[str, ...]:
    """The command line of one of our management commands; start it with CODE as its folder."""
    if IS_CHECKOUT:
        return (sys.executable, str(CODE / "manage.py"), *words)
    return (sys.executable, "-m", "cluster.management", *words)


def typed(command: str) -> str:
    """What a person types for a management command: `typed("restore FILE")`."""
    return f"manage.py {command}" if IS_CHECKOUT else f"bivouac {command}"


def typed_start(target: str) -> str:
    """What a person types to start everything (`up`), or a demo (`demo`)."""
    return f"make {target}" if IS_CHECKOUT else f"bivouac {target}"


def _user_data() -> Path:
    """By the XDG Base Directory Specification, which ignores a path that is not absolute."""
    told = Path(os.environ.get("XDG_DATA_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "share"
