"""Entry point of every command: `python manage.py <command> --help`."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cluster.settings")
    execute_from_command_line(sys.argv)
