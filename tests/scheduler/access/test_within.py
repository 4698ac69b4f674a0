"""Rights within rights: asked of random policies, compared with what each allows by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.access.access import MANAGEMENT, NOBODY, access_of
from scheduler.access.rules import LevelRule, NamespaceRule, PolicyRules
from scheduler.access.within import is_within

SPELLINGS = ("*", "a*", "ab*", "*b", "a*b", "ab", "b", "abb")
NAMES = ("a", "b", "ab", "abb", "aab", "ba", "x", "axb", "abx")
CAPABILITIES = ("read-job", "submit-job", "deny")
LEVELS = ("", "read", "write", "deny")

rules = st.builds(
    lambda name, capabilities: NamespaceRule(name=name, capabilities=tuple(capabilities)),
    st.sampled_from(SPELLINGS),
    st.lists(st.sampled_from(CAPABILITIES), max_size=2, unique=True),
)
policies = st.builds(
    lambda namespaces, level: PolicyRules(
        namespaces=tuple(namespaces), node=LevelRule(policy=level) if level else None
    ),
    st.lists(rules, max_size=3),
    st.sampled_from(LEVELS),
)


def allowed(access):
    """Everything it allows, by name."""
    rights = {
        (name, capability)
        for name in NAMES
        for capability in ("read-job", "submit-job")
        if access.allows(name, capability)
    }
    rights |= {"node:read"} if access.reads("node") else set()
    return rights | ({"node:write"} if access.writes("node") else set())


@given(st.lists(policies, max_size=4), st.data())
def test_what_is_said_to_lie_within_allows_nothing_more(every, data):
    chosen = data.draw(st.lists(st.sampled_from(every), unique_by=id)) if every else []
    inner, outer = access_of(chosen), access_of(every)
    if is_within(inner, outer):
        assert allowed(inner) <= allowed(outer)


@given(st.lists(policies, max_size=4))
def test_all_of_ones_own_lies_within(every):
    assert is_within(access_of(every), access_of(every))


@pytest.mark.parametrize(
    ("chosen", "left_out", "expected"),
    [
        pytest.param({"*": "write"}, {"pay": "deny"}, False, id="without-the-refusal"),
        pytest.param({"*": "write"}, {"pay": "read"}, False, id="without-what-narrows"),
        pytest.param({"*": "write"}, {"pay*": "read"}, False, id="without-what-narrows-by-glob"),
        pytest.param({"*": "read"}, {"pay": "write"}, True, id="without-what-widens"),
        pytest.param({"team-*": "write"}, {"*": "read"}, True, id="the-closer-glob-alone"),
        pytest.param({"team-*": "write"}, {"shop-*": "deny"}, True, id="of-other-names"),
    ],
)
def test_leaving_a_policy_out_may_give_more(chosen, left_out, expected):
    levels = {"read": ("read-job",), "write": ("read-job", "submit-job"), "deny": ("deny",)}

    def policy(blocks):
        return PolicyRules(
            namespaces=tuple(
                NamespaceRule(name=name, capabilities=levels[level])
                for name, level in blocks.items()
            )
        )

    inner, outer = access_of([policy(chosen)]), access_of([policy(chosen), policy(left_out)])
    assert is_within(inner, outer) is expected


def test_everything_lies_within_management_and_management_in_nothing_less():
    assert is_within(MANAGEMENT, MANAGEMENT)
    assert is_within(access_of([]), NOBODY)
    assert not is_within(MANAGEMENT, NOBODY)
