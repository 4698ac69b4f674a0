"""The tables of `docs/compatibility.md`, made from the code.

Blocks and options come from `cluster/jobspec/carried_out.py`, endpoints from the routes. Run as a
program it writes the tables anew: `python -m tests.compatibility`.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "compatibility.md"
_REGION = r"(<!-- table: {name} -->\n).*?(<!-- end -->)"


def blocks() -> Iterator[str]:
    """One line for the fields of a block that fare alike."""
    from cluster.jobspec.carried_out import BLOCKS, TABLE, word_of

    yield "| block | fields | | remark |\n|---|---|---|---|"
    for kind, rows in TABLE.items():
        named = [(word_of(name), row) for name, row in rows.items()]
        yield from _alike(f"`{BLOCKS[kind]}`", named)


def options() -> Iterator[str]:
    """One line for the options of a driver that fare alike."""
    from cluster.jobspec.driver_options import OPTIONS

    yield "| driver | options | | remark |\n|---|---|---|---|"
    for driver, rows in OPTIONS.items():
        yield from _alike(f"`{driver}`", rows.items())
        yield f"| `{driver}` | any other | fails | {driver} has no such option |"


def _alike(head: str, rows: Iterable[tuple[str, tuple]]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name, (fate, why, *_) in rows:
        groups.setdefault((fate.value, why), []).append(name)
    for (fate, why), names in groups.items():
        told = ", ".join(f"`{name}`" for name in names) if len(groups) > 1 else "all"
        yield f"| {head} | {told} | {fate} | {why} |"


def endpoints() -> Iterator[str]:
    """One line for the methods of a path that fare alike."""
    from cluster.api import urls

    yield "| path | methods | | remark |\n|---|---|---|---|"
    lines = set()
    for route in urls.urlpatterns:
        fares: dict[tuple[str, str], list[str]] = {}
        for method, view in views_of(route.callback).items():
            fares.setdefault(_fare(view), []).append(method)
        for (fate, why), methods in fares.items():
            path, told = _readable(route.pattern.regex.pattern), ", ".join(_short(methods))
            lines.add(f"| `/v1/{path}` | {told} | {fate} | {why} |")
    yield from sorted(lines)


def views_of(callback: object) -> Mapping[str, object]:
    """The view of each method, as `door` was told; nothing for what answers every path."""
    inside = inspect.getclosurevars(callback).nonlocals.values()
    tables = (value for value in inside if isinstance(value, dict))
    return next((table for table in tables if set(table) & {"GET", "PUT", "DELETE"}), {})


def _fare(view: object) -> tuple[str, str]:
    from cluster.api import outside

    sentence = inspect.getclosurevars(view).nonlocals.get("sentence")
    if sentence is not None:
        return "refused", sentence
    if view is outside.empty_list:
        return "works", "always an empty list"
    if view is outside.no_resource:
        return "refused", "404: `resource not found`"
    if view is outside.no_tag:
        return "refused", "404: `invalid job tag endpoint`"
    return "works", ""


def _short(methods: list[str]) -> list[str]:
    if {"GET", "PUT", "POST", "PATCH", "DELETE"} <= set(methods):
        return ["every"]
    # PUT stands for POST too.
    return [method for method in methods if method != "POST" or "PUT" not in methods]


def _readable(pattern: str) -> str:
    path = pattern.removeprefix("^").removesuffix("\\Z")
    path = re.sub(r"\(\?P<verb>([^)]*)\)", lambda found: _choice(found[1]), path)
    path = re.sub(r"\(\?P<(\w+)>(?:\[[^]]*\]\*|[^)]*)\)", r"<\1>", path)
    path = path.replace(r"(?:/[\s\S]*)?", "[/…]").replace(r"[\s\S]*", "…").replace("[^/]*", "…")
    path = re.sub(r"\(\?:([^()|]*)\)\?", r"[\1]", path)
    path = re.sub(r"\(\?:([^()]*)\)", lambda found: _choice(found[1]), path)
    return re.sub(r"(\w)\?", r"[\1]", path)


def _choice(words: str) -> str:
    return "{" + words.replace("|", ",") + "}"


TABLES = {"blocks": blocks, "options": options, "endpoints": endpoints}


def rewritten(text: str) -> str:
    """The document with its tables as the code has them."""
    for name, lines in TABLES.items():
        body = "\n".join(lines()) + "\n"
        text, count = re.subn(
            _REGION.format(name=name),
            lambda found, body=body: found[1] + body + found[2],
            text,
            flags=re.DOTALL,
        )
        assert count == 1, f"the document has one table of {name}"
    return text


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
