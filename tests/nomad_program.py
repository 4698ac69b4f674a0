"""Where the reference's command line is, for the tests that run it."""

import os
import shutil

#: None where there is none: the tests that need it are skipped then.
PROGRAM = os.environ.get("TEST_NOMAD") or shutil.which("nomad")
