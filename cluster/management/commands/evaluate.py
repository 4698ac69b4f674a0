"""Evaluate capsules: what a scheduler saw, from a file or standard input; what it decides, out.

Writes to standard output only. Touches neither the database nor Redis.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from django.core.management.base import CommandError

from cluster.jobspec.patterns import Re2Matcher
from cluster.management.terminal import CommandWithExamples
from cluster.operations.capsules import decide_capsule
from scheduler.engine.capsule import CapsuleError

_REFUSED = 2


_EXAMPLES = """\
  manage.py evaluate capsule.json
  curl -s "$BIVOUAC_ADDR/v1/evaluation/ID/capsule" -H "X-Nomad-Token: $BIVOUAC_TOKEN" | \\
    manage.py evaluate -

The page of an evaluation that ended hands out its capsule: all that it saw. The same decision
comes out, whichever machine it is made on.
"""


class Command(CommandWithExamples):
    """`manage.py evaluate FILE`: exit code 0, or 2 when a capsule was refused."""

    epilog = _EXAMPLES

    help = "Evaluate a capsule offline and print the decision."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and how to print."""
        parser.add_argument("file", help="a capsule as JSON; - for standard input")
        parser.add_argument("--compact", action="store_true", help="print on one line")
        parser.add_argument(
            "--lines",
            action="store_true",
            help="one capsule per line in, one decision per line out",
        )

    def handle(self, *, file: str, compact: bool, lines: bool, **_: object) -> None:
        """Print a decision for each capsule."""
        matcher = Re2Matcher()
        is_refused = False
        with _opened(file) as source:
            for text in source if lines else (source.read(),):
                if not text.strip():
                    continue
                decision, is_good = _decide(text, matcher)
                is_refused = is_refused or not is_good
                indent = None if compact or lines else 2
                separators = (",", ":") if compact or lines else None
                self.stdout.write(json.dumps(decision, indent=indent, separators=separators))
        if is_refused:
            sys.exit(_REFUSED)


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    if file == "-":
        yield sys.stdin
    else:
        try:
            # Bytes that are no text are no JSON either.
            with Path(file).open(encoding="utf-8", errors="backslashreplace") as source:
                yield source
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}") from error


def _decide(text: str, matcher: Re2Matcher) -> tuple[object, bool]:
    name = ""
    try:
        document = _parsed(text)
        if isinstance(document, dict):
            name = str(document.get("Name") or "")
        return decide_capsule(document, matcher), True
    except CapsuleError as error:
        return {"Name": name, "Error": {"Path": error.path, "Message": error.message}}, False


def _parsed(text: str) -> object:
    try:
        document: object = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CapsuleError("$", f"not JSON: {error}") from error
    return document
