"""Recorded job files, verdicts and plans against ours.

Each comparison prints how many came out equal.
"""

import gzip
import json
import os
import re
import sys
from pathlib import Path

import pytest

from cluster.jobspec.canonicalize import canonicalize_form
from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.parse import parse_job
from cluster.jobspec.problems import JobProblems, error_text, warning_text
from cluster.jobspec.validate import validate_job
from scheduler.structs.scheduler_settings import SchedulerSettings

HERE = Path(__file__).resolve()
VECTORS = Path(os.environ.get("BIVOUAC_VECTORS", HERE.parents[3] / "shared" / "vectors")) / "hcl"
pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="recorded vectors are not here")


def rows(name):
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def outcome(row):
    """Whether a job file comes out as recorded, and what differs."""
    try:
        form, _ = parse_hcl(row["HCL"], row.get("Variables", ""))
    except JobProblems as problems:
        named = {problem.line for problem in problems.problems}
        named |= {int(line) for line in re.findall(r"hcl:(\d+)", problems.text)}
        is_named = not row.get("Lines") or bool(named & set(row["Lines"]))
        return "Error" in row and is_named
    if "Error" in row:
        return False
    return form == row["Parsed"] and canonicalize_form(form) == row["Canonical"]


@pytest.mark.parametrize(
    ("name", "floor"),
    [pytest.param("own-jobs", 157, id="own"), pytest.param("jobs", 150, id="real")],
)
def test_job_files_come_out_as_recorded(name, floor):
    wrong = [row["Name"] for row in rows(name) if not outcome(row)]
    equal = len(rows(name)) - len(wrong)
    sys.stdout.write(f"{name}: {equal} of {len(rows(name))} equal\n")
    assert equal >= floor, wrong


def verdict(row):
    try:
        job = parse_job(row["Request"]["Job"])
    except JobProblems as problems:
        return 400, problems.text, ""
    found = validate_job(
        job, namespaces={"default"}, node_pools={"default"}, settings=SchedulerSettings()
    )
    text = error_text(problem.message for problem in found.problems)
    return 200, text.strip(), warning_text(found.warnings)


def test_verdicts_are_worded_as_recorded():
    wrong = []
    judged = [row for row in rows("validate") if row["Request"].get("Job") is not None]
    for row in judged:
        recorded = row["Validate"]
        body = recorded.get("Body", {})
        wanted = body.get("Error", recorded.get("Text", "")).strip()
        if verdict(row) != (recorded["Status"], wanted, body.get("Warnings", "")):
            wrong.append(row["Name"])
    sys.stdout.write(f"validate: {len(judged) - len(wrong)} of {len(judged)} equal\n")
    assert len(judged) - len(wrong) >= 190, wrong
