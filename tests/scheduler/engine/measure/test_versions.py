"""Version constraints."""

import pytest

from scheduler.engine.measure.versions import (
    compare_versions,
    parse_version,
    satisfies_semver,
    satisfies_version,
)


@pytest.mark.parametrize(
    ("version", "constraint", "by_version", "by_semver"),
    [
        pytest.param("1.2.3", "~> 1.0", True, False, id="T14-pessimistic"),
        pytest.param("1.4", ">= 1.0, < 1.4", False, False, id="T14-two-clauses"),
        pytest.param("1.3.0-beta1", ">= 0.6.1", False, True, id="T14-pre-release-of-later"),
        pytest.param("1.7.0-alpha1", ">= 1.6.0-beta1", False, True, id="T14-two-pre-releases"),
        pytest.param("1.7.0", ">= 1.7.0-dev", True, True, id="T14-release-and-pre-release"),
        pytest.param("1.3.0-beta1+ent", "= 1.3.0-beta1", True, True, id="T14-metadata"),
        pytest.param("1.7.0-beta", ">= 1.7.0", False, False, id="T14-before-its-release"),
        pytest.param("1.9", "~> 1.0.7", False, False, id="pessimistic-fixes-all-but-the-last"),
        pytest.param("1.0.9", "~> 1.0.7", True, False, id="pessimistic-last-may-grow"),
        pytest.param("1.0.6", "~> 1.0.7", False, False, id="pessimistic-is-a-minimum"),
        pytest.param("2.0", "~> 1.0", False, False, id="pessimistic-major"),
        pytest.param("1.7.1", "~> 1.7.0-dev", False, False, id="pessimistic-from-a-pre-release"),
        pytest.param("v1.2", "1.2.0", True, True, id="no-operator-and-a-v"),
        pytest.param("1.2", "!= 1.2.1", True, True, id="not-equal"),
        pytest.param("1.0beta1", "= 1.0-beta1", True, True, id="lenient-left"),
        pytest.param("1.0-beta1", "= 1.0beta1", True, False, id="strict-right-of-semver"),
        pytest.param("one", ">= 1", False, False, id="no-version"),
        pytest.param("1.0", ">= one", False, False, id="no-constraint"),
        pytest.param("1.0", "", False, False, id="empty-constraint"),
        pytest.param("9223372036854775808.0", "> 1", False, False, id="segment-too-large"),
    ],
)
def test_a_version_satisfies(version, constraint, by_version, by_semver):
    assert satisfies_version(version, constraint) is by_version
    assert satisfies_semver(version, constraint) is by_semver


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("1.2", "1.2.0", 0),
        ("1.2.0.0-beta", "1.2.0", 0),
        ("1.2.0.1", "1.2.0", 1),
        ("1.0-alpha", "1.0", -1),
        ("1.0-alpha.1", "1.0-alpha.2", -1),
        ("1.0-alpha.10", "1.0-alpha.9", 1),
        ("1.0-1", "1.0-alpha", -1),
        ("1.0-alpha", "1.0-alpha.1", -1),
        ("1.0-alpha", "1.0-alpha.x", 1),
        ("1.0-rc", "1.0-beta", 1),
        ("1.0+a", "1.0+b", 0),
    ],
)
def test_versions_are_ordered(left, right, expected):
    one, other = parse_version(left), parse_version(right)
    assert compare_versions(one, other) == expected
    assert compare_versions(other, one) == -expected
