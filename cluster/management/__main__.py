"""`python -m cluster.management COMMAND`: what a checkout has `manage.py` for."""

import sys

from cluster.management.every_command import run

run(["manage.py", *sys.argv[1:]])
