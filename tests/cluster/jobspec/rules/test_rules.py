"""Every numbered rule of docs/spec/validation.md: its text, its place, its order."""

import re
from pathlib import Path

import pytest

from cluster.jobspec.parse import parse_job
from cluster.jobspec.problems import error_text, warning_text
from cluster.operations.admission import problems_of, warnings_of_reference
from cluster.operations.errors import OperationRefused
from scheduler.state.memory_store import MemoryStateStore
from tests.cluster.jobspec.rules import (
    cases_connect,
    cases_group,
    cases_job,
    cases_service,
    cases_task,
    cases_warnings,
    covered,
)
from tests.cluster.jobspec.rules.places import document_of, rendered

ROOT = Path(__file__).parents[4]
#: All rules of the chapter, those that a test names, those that nothing can reach here.
RULES, TESTED, NOT_REACHED = 387, 346, 41
RULE = re.compile(r"^\| ([A-Z][0-9]+[a-z]?) \|", re.MULTILINE)
REFUSALS = (
    *cases_job.CASES,
    *cases_group.CASES,
    *cases_service.CASES,
    *cases_connect.CASES,
    *cases_task.CASES,
)


def named(cases):
    """The cases of a table, each called by its rules and its number among theirs."""
    counts = {}
    for rules, *case in cases:
        counts[rules] = counts.get(rules, 0) + 1
        yield pytest.param(*case, id=f"{rules} {counts[rules]}")


def verdict(document):
    """The whole text of a refusal, empty for none."""
    try:
        problems = problems_of(MemoryStateStore(), parse_job(document))
    except OperationRefused as refused:
        return str(refused)
    return error_text(problem.message for problem in problems)


@pytest.mark.parametrize(("place", "fields", "expected"), [*named(REFUSALS)])
def test_a_job_is_refused_as_the_rule_says(place, fields, expected):
    text = verdict(document_of(place, fields))

    whole = expected if isinstance(expected, str) and ends_whole(expected) else None
    assert text == (whole or rendered(place, expected))


def ends_whole(text):
    """Whether an expected text is the whole answer, not an item of a list."""
    return text.startswith(("1 error occurred:", "error in job mutator"))


@pytest.mark.parametrize(("place", "fields", "expected"), [*named(cases_warnings.CASES)])
def test_a_job_is_warned_about_as_the_rule_says(place, fields, expected):
    told = warnings_of_reference(MemoryStateStore(), parse_job(document_of(place, fields)))

    assert warning_text(told) == warning_text([expected] if expected else [])


def test_every_rule_is_tested_or_listed_with_its_reason():
    rules = set(RULE.findall((ROOT / "docs/spec/validation.md").read_text()))
    assert len(rules) == RULES
    here = {rule for row in (*REFUSALS, *cases_warnings.CASES) for rule in row[0].split()}
    elsewhere = {rule for names in covered.ELSEWHERE.values() for rule in names.split()}
    excused = {rule for names in covered.NOT_APPLICABLE.values() for rule in names.split()}
    assert here | elsewhere | excused == rules
    assert not excused & (here | elsewhere)
    assert (len(here | elsewhere), len(excused)) == (TESTED, NOT_REACHED)


@pytest.mark.parametrize("where", covered.ELSEWHERE)
def test_what_is_tested_elsewhere_is_there(where):
    path, _, name = where.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()
