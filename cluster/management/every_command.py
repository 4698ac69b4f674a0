"""All management commands, by their names as people write them: `join-token`."""

import os
import sys
from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def run(arguments: Sequence[str]) -> None:
    """Carry out a command line, its first word the program; ends the process where it fails."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")
    words = list(arguments)
    if len(words) > 1 and not words[1].startswith("-"):
        # Names of Python files have no hyphens, those of commands may.
        words[1] = words[1].replace("-", "_")
    try:
        execute_from_command_line(words)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
