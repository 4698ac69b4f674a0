"""The examples of docs/client.md run against a real server, in their order."""

import os
import re
import subprocess
import sys

from django.conf import settings

DOCUMENT = settings.BASE_DIR / "docs" / "client.md"


def test_every_example_runs(served):
    address, secret = served
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(examples) == 6
    # One after another in one process, each as a module of its own.
    program = "".join(f"exec(compile({each!r}, 'example', 'exec'), {{}})\n" for each in examples)
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        env={**os.environ, "NOMAD_ADDR": address, "NOMAD_TOKEN": secret},
        cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    said = done.stdout
    # No node of the record has the driver.
    assert "{'main': AllocMetric(nodes_evaluated=1, nodes_filtered=1" in said
    assert re.search(r"^[0-9a-f-]{36} \d+$", said, re.MULTILINE)
    assert "pending job-register" in said
    assert re.search(r"^hello pending \{'main': TaskGroupSummary\(", said, re.MULTILINE)
    assert re.search(r"^\d+ pending$", said, re.MULTILINE)
    assert re.search(r"^\d+ JobRegistered hello$", said, re.MULTILINE)
    assert "job not found" in said
    assert re.search(r"^400 .*count", said, re.MULTILINE)
