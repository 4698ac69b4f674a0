"""What right each operation of the API's document asks, written from the table of rights.

`python -m tests.operation_rights` writes `cluster/api/openapi/rights.py`.
"""

import os
import sys
from pathlib import Path

from tests.rights import TABLE, Row

MODULE = Path(__file__).resolve().parent.parent / "cluster" / "api" / "openapi" / "rights.py"


def module() -> str:
    """By method and path; of several rows of a route each right once."""
    from django.urls import resolve

    from cluster.api import urls
    from cluster.api.openapi.route_paths import matches, paths_of

    routes = [str(resolve(f"/{_address(row)}", urlconf=urls).route) for row in TABLE]
    found: dict[str, list[str]] = {}
    for row, route in zip(TABLE, routes, strict=True):
        _add(found, row, [path for path in paths_of(route) if matches(path, _address(row))])
    # Words that a pattern offers besides, of which no row gives an example.
    named = set(found)
    for row, route in zip(TABLE, routes, strict=True):
        for method in row.methods.split():
            paths = [path for path in paths_of(route) if f"{method} {path}" not in named]
            _add(found, row, paths)
    lines = [
        '"""Which right each operation asks: `python -m tests.operation_rights` writes it."""',
        "",
        "#: By method and path below `/v1/`; `;` stands between what different queries ask.",
        "RIGHTS: dict[str, str] = {",
        *(_line(each, rights) for each, rights in sorted(found.items())),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _address(row: Row) -> str:
    return row.path.partition("?")[0]


def _add(found: dict[str, list[str]], row: Row, paths: list[str]) -> None:
    right = row.right.replace("|", "or").replace("+", "and")
    for method in row.methods.split():
        for path in paths:
            told = found.setdefault(f"{method} {path}", [])
            told += [] if right in told else [right]


def _line(name: str, rights: list[str]) -> str:
    line = f'    "{name}": "{"; ".join(rights)}",'
    return line if len(line) < 100 else f"{line}  # noqa: E501 - written by a program"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    text = module()
    MODULE.write_text(text)
    sys.stdout.write(text)
