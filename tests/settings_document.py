"""`docs/settings.md`, from the calls of `cluster/environment.py` in the settings.

Name, kind, default and bounds are read from the calls; meanings, and what follows the table, stay
as they stand there. Run as a program it writes the page; `tests/test_site.py` compares.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "settings.md"
_KINDS = {
    "env_text": "text", "env_words": "words, with commas between", "env_pairs": "pairs `a=b`",
    "env_address": "http address", "env_origin": "http address", "env_bool": "0 or 1",
    "env_int": "number", "env_float": "number", "env_secret": "text", "env_needed": "text",
}  # fmt: skip
_HEAD = """\
| variable | kind | default | from, to | meaning |
|---|---|---|---|---|
"""


def _meanings() -> dict[str, str]:
    found = {}
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            found[cells[0].strip("`")] = cells[4]
    return found


def _plain(node: ast.expr | None) -> str:
    if node is None:
        return ""
    try:
        value = eval(compile(ast.Expression(node), "settings", "eval"), {"__builtins__": {}})  # noqa: S307 - our own settings
    except NameError:
        return "see the meaning"
    if isinstance(value, bool):
        return "1" if value else "0"
    # A bound may be written as 1e9.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def rows() -> list[str]:
    """A line for each variable, in the order of the settings."""
    meanings, lines = _meanings(), {}
    for node in ast.walk(ast.parse((ROOT / "cluster" / "settings.py").read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id not in _KINDS or not isinstance(node.args[0], ast.Constant):
            continue
        name = str(node.args[0].value)
        more = {keyword.arg: keyword.value for keyword in node.keywords}
        has_default = len(node.args) > 1 and node.func.id != "env_secret"
        default = _plain(node.args[1] if has_default else more.get("default"))
        bounds = f"{_plain(more['low'])}, {_plain(more['high'])}" if "low" in more else ""
        told = meanings.get(name, "")
        line = f"| `{name}` | {_KINDS[node.func.id]} | {default} | {bounds} | {told} |"
        # The first call tells most: others ask again whether it is set at all.
        if name not in lines or len(line) > len(lines[name]):
            lines[name] = line
    return list(lines.values())


def document() -> str:
    """The whole page."""
    before, _, rest = DOCUMENT.read_text().partition(_HEAD)
    after = rest.partition("\n\n")[2]
    return before + _HEAD + "\n".join(rows()) + "\n\n" + after


if __name__ == "__main__":
    DOCUMENT.write_text(document())
