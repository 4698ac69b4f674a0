"""The tables of `docs/agent.md`, from the keys that an agent reads and those it refuses.

Run as a program it writes them; `tests/test_agent_document.py` compares.
"""

import re
from itertools import groupby
from pathlib import Path

from cluster.agent.config_keys import KEYS, UNSUPPORTED

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "agent.md"
_KINDS = {"text": "text", "texts": "list of texts", "bool": "true or false", "whole": "number",
          "span": "span, as `5m`", "map": "names and texts"}  # fmt: skip


def tables() -> dict[str, str]:
    """The lines between `<!-- NAME -->` and the next empty comment."""
    taken = ["| key | | meaning |", "|---|---|---|"]
    taken += [f"| `{key.path}` | {_KINDS[key.kind]} | {key.means} |" for key in KEYS]
    refused = ["| keys | why |", "|---|---|"]
    by_reason = sorted(UNSUPPORTED, key=lambda path: (UNSUPPORTED[path], path))
    for reason, paths in groupby(by_reason, key=UNSUPPORTED.__getitem__):
        refused.append(f"| {', '.join(f'`{path}`' for path in paths)} | {reason} |")
    return {"taken": "\n".join(taken), "refused": "\n".join(refused)}


def with_tables(text: str) -> str:
    """The document with its tables as they must be."""
    for name, table in tables().items():
        text = re.sub(
            rf"(<!-- {name} -->\n)(?:.*?\n)??(<!-- -->)",
            lambda found, table=table: found[1] + table + "\n" + found[2],
            text,
            flags=re.DOTALL,
        )
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
