"""Job texts in, jobs or problems with their places out."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.jobspec.parse import decode_job, parse_job, parse_job_with_notes, parse_text
from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.validate import validate

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.nomad.hcl"))


def problems_of(text, variables=""):
    with pytest.raises(JobProblems) as caught:
        parse_text(text, variables)
    return caught.value.problems


def test_names_match_without_regard_to_case_and_unknown_ones_are_told():
    job, unknown = parse_job_with_notes(
        {"id": "a", "TASKGROUPS": [{"name": "g", "Bogus": 1}], "x": 2}
    )
    assert (job.id, job.task_groups[0].name, unknown) == ("a", "g", ("TaskGroups[0].Bogus", "x"))


def test_null_is_not_zero():
    form, _ = decode_job({"ID": "a", "TaskGroups": [{"Name": "g", "Count": None}, {"Count": 0}]})
    assert [group["Count"] for group in form["TaskGroups"]] == [None, 0]
    counts = [
        group.count
        for group in parse_job({"ID": "a", "TaskGroups": form["TaskGroups"]}).task_groups
    ]
    assert counts == [1, 0]


def test_every_wrong_type_is_told_with_its_place():
    text = '{"Job":\n {"ID": 7,\n  "TaskGroups": [{"Count": "2"}]}}'
    assert problems_of(text) == (
        Problem(
            "ID",
            "json: cannot unmarshal number into Go struct field Job.Job.ID of type string",
            2,
            9,
        ),
        Problem(
            "TaskGroups[0].Count",
            "json: cannot unmarshal string into Go struct field"
            " TaskGroup.Job.TaskGroups.Count of type int",
            3,
            28,
        ),
    )


def test_several_mistakes_of_a_job_file_are_told_at_once():
    places = [
        (problem.line, problem.column, problem.message.rpartition("; ")[2])
        for problem in problems_of('job "a" {\n  datacentres = 1\n  groop "g" {}\n}\n')
    ]
    assert places == [
        (
            2,
            3,
            'An argument named "datacentres" is not expected here. Did you mean "datacenters"?',
        ),
        (3, 3, 'Blocks of type "groop" are not expected here. Did you mean "group"?'),
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param('job "a" {\n  group "g" {\n    count = -1\n  }\n}\n', (3, 5), id="job-file"),
        pytest.param(
            '{"ID": "a",\n"TaskGroups": [{"Name": "g", "Count": -1}]}', (2, 39), id="json"
        ),
    ],
)
def test_broken_rules_have_the_place_of_the_line_that_breaks_them(text, place):
    found = [problem for problem in parse_text(text).problems() if "negative" in problem.message]
    assert [(problem.line, problem.column) for problem in found] == [place]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_valid(path):
    parsed = parse_text(path.read_text())
    assert (validate(parsed.job), parsed.warnings, parsed.format) == ([], (), "hcl2")


HOSTILE = {
    "deep-json": '{"a":' * 100_000,
    "deep-arrays": '{"ID":"x","Meta":' + "[" * 5000 + "]" * 5000 + "}",
    "deep-blocks": 'job "x" {' + 'group "g" {' * 5000,
    "deep-parentheses": 'job "x" { name = ' + "(" * 50_000,
    "deep-interpolation": 'job "x" { name = "' + "${" * 5000,
    "doubling-text": 'locals {\n a0 = "xxxxxxxxxxxxxxxx"\n'
    + "".join(f' a{n + 1} = "${{local.a{n}}}${{local.a{n}}}"\n' for n in range(29))
    + '}\njob "x" { name = local.a29 }',
    "doubling-lists": 'locals {\n a0 = ["x"]\n'
    + "".join(f" a{n + 1} = [local.a{n}, local.a{n}]\n" for n in range(28))
    + '}\njob "x" { all_at_once = local.a28 == local.a28 }',
    "product": 'job "x" { datacenters = setproduct(range(1000), range(1000), range(1000)) }',
    "loops": 'job "x" { datacenters = [for a in range(999): [for b in range(999):'
    " [for c in range(999): a]]] }",
    "wide-format": 'job "x" { name = format("%1000000000d", 1) }',
    "huge-number": 'job "x" { priority = 1e999999999 }',
    "circle": 'locals {\n a = local.b\n b = local.a\n}\njob "x" { name = local.a }',
    "open-comment": "/*" * 400_000,
    "too-long": "#" * ((1 << 20) + 1),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_bombs_are_refused(text):
    assert problems_of(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "ID",
                    "TaskGroups",
                    "Tasks",
                    "Name",
                    "Count",
                    "Update",
                    "Resources",
                    "CPU",
                    "Meta",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=100)
@given(JSON)
def test_any_json_is_a_job_or_a_list_of_problems(document):
    with suppress(JobProblems):
        validate(parse_job(json.dumps(document)))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from([*'{}[]()"$%=:,.?!~#\\ \n1a', "job", "group", "${", "%{", "<<E\n"]))
)
def test_any_text_is_a_job_or_a_list_of_problems(pieces):
    with suppress(JobProblems):
        parse_text('job "a" {\n' + "".join(pieces))
