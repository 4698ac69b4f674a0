"""Terms of expressions: plain ones, what ends them, escapes; limits say which they are."""

import pytest

from cluster.jobspec.hcl.escapes import unescaped
from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.problems import JobProblems


def value_of(expression):
    form, _ = parse_hcl(f'job "x" {{\n  name = "${{jsonencode({expression})}}"\n}}\n')
    return form["Name"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        pytest.param("1", "1", id="number"),
        pytest.param('"a b"', '"a b"', id="text"),
        pytest.param("true", "true", id="word"),
        pytest.param("[1, 2,\n 3\n, 4]", "[1,2,3,4]", id="list-over-lines"),
        pytest.param("[1\n+ 2]", "[3]", id="operator-in-the-next-line"),
        pytest.param("[1 # one\n, 2 /* two */]", "[1,2]", id="comments"),
        pytest.param('{ a = 1, b : "x" }', '{"a":1,"b":"x"}', id="object"),
        pytest.param("{ a = 1\n b = null }", '{"a":1,"b":null}', id="object-over-lines"),
        pytest.param('"a" == "a"', "true", id="comparison"),
        pytest.param("true ? 1 : 2", "1", id="conditional"),
        pytest.param("[1.5, 2e3, 007]", "[1.5,2000,7]", id="numbers"),
        pytest.param('[for trueish in ["a"] : trueish]', '["a"]', id="name-that-begins-as-a-word"),
        pytest.param('["a", "b"][1]', '"b"', id="index-behind-a-list"),
        pytest.param('"${1}-${"b"}"', '"1-b"', id="text-in-text"),
        pytest.param('"%%{x}"', '"%{x}"', id="percent"),
    ],
)
def test_a_term_means_what_it_says(expression, value):
    assert value_of(expression) == value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"a\nb\tc\rd\"e", 'a\nb\tc\rd"e'),
        (r"\\n", r"\n"),
        (r"\\\n", "\\\n"),
        (r"\\\\", "\\\\"),
        (r"\n\\t\"\\", '\n\\t"\\'),
        (r"\u00e9\\n\n", "é\\n\n"),
        (r"\ud83d\ude00", "😀"),
        (r"\ud83d", "\ufffd"),
    ],
)
def test_an_escape_means_one_character(written, meant):
    assert unescaped(written, 0, is_json=False) == meant


@pytest.mark.parametrize(("text", "start"), [(r"\n\q", 9), (r"\\\b", 9), ("\\", 7)])
def test_an_escape_that_does_not_exist_is_named_with_its_place(text, start):
    with pytest.raises(SyntaxProblem) as problem:
        unescaped(text, 7, is_json=False)
    assert problem.value.start == start


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        pytest.param("name = a" + ".a" * 30_000, "at most 20000 are read", id="steps"),
        pytest.param("a {}\n" * 6_000, "a block counts as 4", id="blocks"),
        pytest.param('name = "' + "%{if a}%{endif}" * 20_000 + '"', "at most 20000 are read",
                     id="directives"),
        pytest.param("priority = " + "1+" * 6_000 + "1", "At most 5000 operators", id="operators"),
        pytest.param("priority = " + "(" * 50, "At most 40 levels", id="nesting"),
    ],
)  # fmt: skip
def test_a_file_over_a_limit_is_told_the_limit(body, limit):
    with pytest.raises(JobProblems) as refused:
        parse_hcl(f'job "x" {{\n{body}\n}}\n')
    assert limit in refused.value.text


def test_json_with_too_many_objects_is_told_the_limit():
    with pytest.raises(JobProblems) as refused:
        parse_hcl('{"job":{"x":{"group":[' + "{}," * 20_000 + "{}]}}}")
    assert refused.value.text == "a job holds at most 10000 objects"
