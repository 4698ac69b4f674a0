"""Operands on texts."""

import pytest

from scheduler.engine.measure.operands import compare, parse_float, parse_integer
from tests.scheduler.engine.patterns import Patterns


@pytest.mark.parametrize(
    ("operand", "left", "right", "expected"),
    [
        pytest.param("=", "foo", "foo", True, id="T11-equal"),
        pytest.param("==", "foo", "foo", True, id="T11-double"),
        pytest.param("is", "foo", "foo", True, id="T11-is"),
        pytest.param("=", "foo", None, False, id="T11-right-missing"),
        pytest.param("=", None, "foo", False, id="T11-left-missing"),
        pytest.param("=", None, None, False, id="T11-both-missing"),
        pytest.param("!=", "foo", "foo", False, id="T12-same"),
        pytest.param("not", "foo", "bar", True, id="T12-other"),
        pytest.param("!=", None, "foo", True, id="T12-missing-differs"),
        pytest.param("!=", None, None, False, id="T12-both-missing"),
        pytest.param("<", "10", "1", False, id="T13-integers"),
        pytest.param("<", "1", "10", True, id="T13-integers-not-texts"),
        pytest.param("<", "10.5", "1.5", False, id="T13-floats"),
        pytest.param("<", "bar", "foo", True, id="T13-texts"),
        pytest.param(">", "1", "foo", False, id="T13-number-and-text"),
        pytest.param("<=", "2", "2.0", True, id="integer-and-float"),
        pytest.param(">=", "nan", "1", False, id="nan-has-no-order"),
        pytest.param("<=", "nan", "1", False, id="nan-has-no-order-either-way"),
        pytest.param(">", "inf", "1e300", True, id="infinity-by-word"),
        pytest.param("<", "1_0", "9", True, id="underscore-makes-a-text"),
        pytest.param(">", None, "1", False, id="order-needs-both"),
        pytest.param("version", "1.2.3", "~> 1.0", True, id="T14-version"),
        pytest.param("semver", "1.2.3", "~> 1.0", False, id="T14-semver"),
        pytest.param("regexp", "foobar", "bar", True, id="T15-unanchored"),
        pytest.param("regexp", "foobar", "^bar", False, id="T15-anchored"),
        pytest.param("regexp", "foo", "(", False, id="T15-bad-pattern"),
        pytest.param("set_contains", "foo,bar, baz", "foo ,bar", True, id="T16-blanks"),
        pytest.param("set_contains", "foo,bar", "foo,bam", False, id="T16-missing-item"),
        pytest.param("set_contains_all", "foo,bar", "bar", True, id="T16-all"),
        pytest.param("set_contains_any", "foo,bar", "bam,bar", True, id="T16-any"),
        pytest.param("set_contains_any", "foo,bar", "bam", False, id="T16-none"),
        pytest.param("set_contains", "a,,b", "", True, id="empty-item-is-an-item"),
        pytest.param("set_contains", "a,b", "", False, id="empty-item-is-looked-for"),
        pytest.param("is_set", "", None, True, id="T17-empty-is-set"),
        pytest.param("is_set", None, None, False, id="T17-not-set"),
        pytest.param("is_not_set", None, "x", True, id="T17-is-not-set"),
        pytest.param("is_not_set", "x", None, False, id="T17-set"),
        pytest.param("distinct_hosts", None, None, True, id="judged-elsewhere"),
        pytest.param("resembles", "a", "a", False, id="unknown-operand"),
    ],
)
def test_an_operand_holds(operand, left, right, expected):
    assert compare(operand, left, right, Patterns()) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("-12", -12),
        ("+5", 5),
        ("007", 7),
        (" 1", None),
        ("1_0", None),
        ("", None),
        ("\uff11", None),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("1.0", None),
    ],
)
def test_integers_are_decimal_and_fit_64_bits(text, expected):
    assert parse_integer(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("0x1p4", 16.0),
        ("INF", float("inf")),
        ("-infinity", float("-inf")),
        ("1e999", None),
        ("0x1", None),
        ("1 ", None),
        ("1_0", None),
        ("e3", None),
        (".", None),
        ("", None),
        ("0x1p99999", None),
    ],
)
def test_floats_are_written_as_the_grammar_says(text, expected):
    assert parse_float(text) == expected
