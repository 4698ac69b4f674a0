"""The packages and who imports whom, computed from the sources.

A package here is a sub-package, named with a dot (`scheduler.broker`), or
a top package itself for the modules at its top. Run as a program it draws the arrows
of `docs/architecture.md` anew.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "architecture.md"
PACKAGES = ("dashboard", "cluster", "scheduler")
#: Written by Django, or by nobody imported.
LEFT_OUT = {"cluster.migrations", "dashboard.migrations"}
Arrow = tuple[str, str]


def package_of(module: str) -> str:
    """The package that a module, given with dots, lies in."""
    first, *rest = module.split(".")
    is_package = bool(rest) and (ROOT / first / rest[0]).is_dir()
    return f"{first}.{rest[0]}" if is_package else first


def imports_of(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in PACKAGES:
                # `from cluster import models` names the package in the second place.
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in PACKAGES)


def arrows() -> set[Arrow]:
    """Every pair of packages of which the first imports from the second."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            one = package_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
            found |= {(one, package_of(module)) for module in imports_of(path)}
    return {(a, b) for a, b in found if a != b and not {a, b} & LEFT_OUT}


def drawn(text: str) -> set[Arrow]:
    """The arrows of the drawings in a document: `a --> b & c`."""
    lines = re.findall(r"^ *([\w.]+) --> ([\w. &]+)$", text, re.MULTILINE)
    return {(a, b) for a, targets in lines for b in targets.split(" & ")}


def drawing(package: str) -> str:
    """The lines of one package's drawing."""
    targets_of: dict[str, list[str]] = {}
    for a, b in sorted(arrows()):
        if a.split(".")[0] == package:
            targets_of.setdefault(a, []).append(b)
    return "\n".join(f"  {one} --> {' & '.join(targets)}" for one, targets in targets_of.items())


def redraw() -> None:
    """Put the arrows as they are into the document's drawings."""
    text = DOCUMENT.read_text()
    for package in PACKAGES:
        lines = rf"(?:^  {package}[\w.]* --> .*\n)+"
        text = re.sub(
            lines,
            lambda _, package=package: drawing(package) + "\n",
            text,
            count=1,
            flags=re.MULTILINE,
        )
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    redraw()
