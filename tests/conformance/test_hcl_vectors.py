"""Recorded job files and verdicts against ours."""

import re

from cluster.jobspec.canonicalize import canonicalize_form
from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.parse import parse_job
from cluster.jobspec.problems import JobProblems, error_text, warning_text
from cluster.operations.admission import problems_of, warnings_of_reference
from scheduler.state.memory_store import MemoryStateStore
from tests.template_coverage import report, templates_of
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


def test_of_templates_of_recorded_jobs_it_is_known_which_a_node_renders():
    told = report([str(VECTORS / "hcl" / "own-jobs.jsonl.gz")]).splitlines()
    assert told == [
        "8 templates in 5 of 87 job files",
        "rendered: 7 templates, 4 job files",
        "of a file: 1 templates, 1 job files",
        "Consul: 0 templates, 0 job files",
        "Vault: 0 templates, 0 job files",
        "switched off: 0 templates, 0 job files",
        "not read: 0 templates, 0 job files",
    ]


def test_what_a_template_asks_for_in_vain_is_named():
    def fate(text):
        template = {"EmbeddedTmpl": text, "LeftDelim": None, "RightDelim": None}
        job = {"TaskGroups": [{"Tasks": [{"Templates": [template]}]}]}
        ((_, found, why),) = templates_of("job", job)
        return found, why

    assert fate('{{ range nomadService "web" }}{{ .Port }}{{ end }}') == ("rendered", "")
    assert fate('{{ key "a" }}{{ with secret "b" }}{{ .Data }}{{ end }}') == (
        "Vault",
        "key, secret",
    )
    assert fate('{{ plugin "x" }}') == ("switched off", "plugin")
    assert fate("{{ scratch }}")[0] == fate("{{ if }}")[0] == "not read"
    assert fate("") == ("of a file", "")
