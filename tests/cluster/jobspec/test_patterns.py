"""Regular expressions of job files."""

import pytest

from cluster.jobspec.patterns import Re2Matcher


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("^a.c$", "abc", True, id="match"),
        pytest.param("b", "abc", True, id="unanchored"),
        pytest.param("(", "(", False, id="does-not-compile"),
        pytest.param("(a+)+$", "a" * 100_000 + "b", False, id="would-hang-elsewhere"),
    ],
)
def test_patterns_are_searched_in_linear_time(pattern, text, found):
    assert Re2Matcher().search(pattern, text) is found


def test_a_pattern_that_does_not_compile_is_explained():
    assert Re2Matcher().problem("(") == "missing closing ): `(`"
