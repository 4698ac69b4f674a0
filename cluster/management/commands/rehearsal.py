"""Carry out one rehearsal that was asked for: the process that a web process starts for it.

Reads the record, and writes how the rehearsal goes and what it found.
"""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand

from cluster.runtime.rehearsal_process import run


class Command(BaseCommand):
    """`manage.py rehearsal ID`; to rehearse by hand, use `rehearse`."""

    help = "Carry out one rehearsal that was asked for; web processes start it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which of those that were asked for."""
        parser.add_argument("id")

    def handle(self, *, id: str, **_: object) -> None:  # noqa: A002 - the name of the argument
        """Carry it out, and end."""
        run(id)
