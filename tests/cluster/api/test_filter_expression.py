"""Filter expressions: what they mean, and how they are refused."""

import pytest

from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import compile_filter
from scheduler.structs.job import Job, Periodic
from scheduler.structs.task_group import TaskGroup

JOB = Job(
    id="web",
    priority=70,
    meta={"a.b": "1", "owner": "team"},
    datacenters=("dc1", "dc2"),
    task_groups=(TaskGroup(name="front", count=3), TaskGroup(name="back", count=1)),
    periodic=Periodic(spec="* * * * *"),
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ('ID == "web"', True),
        ("ID == web", True),
        ("ID==`web`", True),
        (r'ID == "w\145b"', True),
        (r'ID == "\x77\u0065\U00000062"', True),
        (r'ID == "w\nb"', False),
        ("ID != web", False),
        ("Priority == 70", True),
        ("Priority != 70", False),
        ("Stop == false", True),
        ('ParentID == ""', True),
        ("ParentID is empty", True),
        ("Datacenters is not empty", True),
        ('"dc1" in Datacenters', True),
        ("dc3 in Datacenters", False),
        ("dc3 not in Datacenters", True),
        ("Datacenters contains dc2", True),
        ("Datacenters not contains dc2", False),
        ("ID contains we", True),
        ("eb in ID", True),
        ("owner in Meta", True),
        ("Meta contains nobody", False),
        ('Meta["a.b"] == 1', True),
        ('"/Meta/a.b" == 1', True),
        ("Meta.owner == team", True),
        ('ID matches "^w.b$"', True),
        ('ID not matches "^x"', True),
        ("Periodic is not nil", True),
        ("ParameterizedJob is nil", True),
        ("Periodic.Enabled == true", True),
        ("TaskGroups.0.Name == front", True),
        ("any TaskGroups as group { group.Count == 3 }", True),
        ("all TaskGroups as group { group.Count == 3 }", False),
        ("any TaskGroups as i, group { i == 1 and group.Name == back }", True),
        ("any TaskGroups as _, group { group.Name == none }", False),
        ("any Meta as key { key == owner }", True),
        ("any Meta as key, value { value == team }", True),
        ("ID == web and Priority == 1 or Stop == false", True),
        ("ID == web and (Priority == 1 or Stop == true)", False),
        ("not ID == web", False),
        ("not (ID == other) and Priority == 70", True),
        ("not not ID == web", True),
    ],
)
def test_what_an_expression_matches(text, matches):
    assert compile_filter(text).wants(JOB) is matches


@pytest.mark.parametrize(
    ("operator", "matches"),
    [
        ("== x", False),
        ("!= x", True),
        ("contains x", False),
        ("not contains x", True),
        ('matches "x"', False),
        ('not matches "x"', True),
        ("is empty", True),
        ("is not empty", False),
        ("is nil", True),
        ("is not nil", False),
    ],
)
def test_what_holds_of_a_missing_map_key(operator, matches):
    assert compile_filter(f"Meta.absent {operator}").wants(JOB) is matches


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("this is wrong", '1:9 (8): no match found, expected: "empty", "nil", "not" or'),
        ("ID ==", "1:6 (5): no match found"),
        ("ID == 'web'", "1:7 (6): no match found"),
        ("Priority < 3", "1:10 (9): no match found"),
        ("(ID == web", "1:11 (10): no match found"),
        ("ID == web and", "1:11 (10): no match found"),
        ("ID ==\nweb extra", "2:5 (10): no match found"),
        ("any TaskGroups as g { g.Count == 3", "no match found"),
        ("", "1:1 (0): no match found"),
        ("(" * 100 + "ID == web", "no match found"),
        ("not " * 2000 + "ID == web", "no match found"),
        ("x" * 20_000, "1:1 (0): no match found"),
    ],
)
def test_what_cannot_be_read_names_the_place(text, place):
    with pytest.raises(OperationRefused) as refused:
        compile_filter(text)

    head = "failed to create result paginator: failed to read filter expression: "
    assert str(refused.value).startswith(head)
    assert place in str(refused.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "Nope == 1",
            "error finding value in datum: /Nope at part 0:"
            ' couldn\'t find key: struct field with name "Nope"',
            id="unknown-field",
        ),
        pytest.param(
            "id == web",
            "error finding value in datum: /id at part 0:"
            ' couldn\'t find key: struct field with name "id"',
            id="fields-have-case",
        ),
        pytest.param(
            "Priority == abc",
            "error getting match value in expression:"
            ' strconv.ParseInt: parsing "abc": invalid syntax',
            id="no-number",
        ),
        pytest.param(
            "ParameterizedJob is empty",
            'cannot perform is-empty operations on type invalid for selector: "ParameterizedJob"',
            id="absent-object",
        ),
        pytest.param(
            "Priority contains 7",
            'cannot perform in/contains operations on type int for selector: "Priority"',
            id="contains-of-a-number",
        ),
    ],
)
def test_what_goes_wrong_on_an_item(text, problem):
    with pytest.raises(OperationRefused) as refused:
        compile_filter(text).wants(JOB)

    assert str(refused.value) == f"failed to read result page: {problem}"


def test_a_hostile_pattern_takes_no_time():
    item = Job(id="a" * 100_000)

    assert compile_filter('ID matches "(a+)+$"').wants(item) is True


def test_a_pattern_that_does_not_compile_is_refused():
    with pytest.raises(OperationRefused, match="failed to compile regular expression"):
        compile_filter('ID matches "("').wants(JOB)


@pytest.mark.parametrize("text", [r'ID == "\q"', r'ID == "\777"', r'ID == "\ud800"'])
def test_an_escape_that_go_does_not_know_is_refused(text):
    with pytest.raises(OperationRefused, match="a string with known escapes"):
        compile_filter(text)
