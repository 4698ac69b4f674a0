"""Entry point of every command: `python manage.py <command> --help`."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")
    words = list(sys.argv)
    if len(words) > 1 and not words[1].startswith("-"):
        # Names of Python files have no hyphens, those of commands may.
        words[1] = words[1].replace("-", "_")
    try:
        execute_from_command_line(words)
    except ImproperlyConfigured as error:
        sys.exit(str(error))
