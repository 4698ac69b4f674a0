"""Recorded job files and verdicts against ours."""

import re

from cluster.jobspec.canonicalize import canonicalize_form
from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.parse import parse_job
from cluster.jobspec.problems import JobProblems, error_text, warning_text
from cluster.operations.admission import problems_of, warnings_of_reference
from scheduler.state.memory_store import MemoryStateStore
from tests.vector_files import VECTORS, lines_of


def rows(name):
    return list(lines_of(VECTORS / "hcl" / f"{name}.jsonl.gz"))


def outcome(row):
    """Whether a job file comes out as recorded."""
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


def test_job_files_come_out_as_recorded():
    assert [row["Name"] for row in rows("own-jobs") if not outcome(row)] == []


def verdict(row):
    try:
        job = parse_job(row["Request"]["Job"])
    except JobProblems as problems:
        return 400, problems.text, ""
    cluster = MemoryStateStore()
    text = error_text(problem.message for problem in problems_of(cluster, job))
    return 200, text.strip(), warning_text(warnings_of_reference(cluster, job))


def test_verdicts_are_worded_as_recorded():
    wrong = []
    judged = [row for row in rows("validate") if row["Request"].get("Job") is not None]
    for row in judged:
        recorded = row["Validate"]
        body = recorded.get("Body", {})
        wanted = body.get("Error", recorded.get("Text", "")).strip()
        if verdict(row) != (recorded["Status"], wanted, body.get("Warnings", "")):
            wrong.append(row["Name"])
    assert len(judged) >= 190
    assert wrong == []
