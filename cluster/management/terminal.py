"""How commands print: tables for people, JSON for programs; and how they read spans of time.

In: rows and options. Out: text. Knows nothing of what the rows mean.
"""

import json
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from datetime import UTC, datetime
from textwrap import fill
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from cluster.jobspec.durations import read_duration

_SECOND = 1_000_000_000
_GAP = "  "
#: What is written as one line of help is broken so.
_LONGEST_LINE = 90


class CommandWithExamples(BaseCommand):
    """A command whose help keeps the lines it was written in, and that needs no checks first."""

    requires_system_checks = ()
    #: Below the options.
    epilog = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """The parser of every command, which would fill the lines anew."""
        parser = super().create_parser(
            prog_name,
            subcommand,
            epilog=self.epilog,
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )
        if len(self.help) > _LONGEST_LINE and "\n" not in self.help:
            parser.description = fill(self.help, _LONGEST_LINE)
        return parser


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    lines = (
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    )
    return "\n".join(lines)


def json_text(value: object) -> str:
    """Indented, in the order given."""
    return json.dumps(value, indent=2)


def instant_words(at: int) -> str:
    """An instant (ns since the Unix epoch) to the second; 0 is never."""
    return f"{datetime.fromtimestamp(at // _SECOND, UTC):%Y-%m-%d %H:%M:%S} UTC" if at else "never"


def instant_json(at: int) -> str | None:
    """An instant (ns since the Unix epoch) as RFC 3339; None for 0."""
    return f"{datetime.fromtimestamp(at // _SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}" if at else None


def span(text: str) -> int:
    """The ns of a span of time given as an option: `30m`, `8h`. Raises ArgumentTypeError."""
    found = read_duration(text)
    if found is None or found <= 0:
        raise ArgumentTypeError(f"{text!r} is no span of time like 30m, 8h or 1h30m")
    return found
