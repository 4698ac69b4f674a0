"""Carry out one rehearsal that was asked for: the process that a web process starts for it.

Reads the record, and tells how the rehearsal goes and what it found.
"""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from cluster.runtime.rehearsal_process import run, tell_desk, write_down


class Command(BaseCommand):
    """`manage.py rehearsal ID`; to rehearse by hand, use `rehearse`."""

    help = "Carry out one rehearsal that was asked for; web processes start it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which of those that were asked for."""
        parser.add_argument("id")
        parser.add_argument(
            "--tell", action="store_true",
            help="say how it goes on the standard output, for a web process to write down",
        )  # fmt: skip

    def handle(self, *, id: str, tell: bool, **_: object) -> None:  # noqa: A002 - the name of the argument
        """Carry it out, and end."""
        run(id, tell_desk if tell else write_down)
