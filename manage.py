"""Entry point of every command: `python manage.py <command> --help`."""

import sys

from cluster.management.every_command import run

if __name__ == "__main__":
    run(sys.argv)
