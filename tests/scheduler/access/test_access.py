import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.policies.read import read_policy
from scheduler.access.access import MANAGEMENT, NOBODY, access_of, variable_name
from scheduler.access.capabilities import KNOWN
from scheduler.access.grants import closest, matches

NAMESPACES_OF_RULES = {
    f"{spelling} {level}": f'namespace "{spelling}" {{ policy = "{level}" }}'
    for spelling in ("*", "a", "a*", "*b", "default")
    for level in ("deny", "read", "write", "scale")
}


def access(*texts, own=()):
    return access_of([read_policy(text) for text in texts], own)


@pytest.mark.parametrize(
    ("spec", "name", "is_match"),
    [
        pytest.param("dev", "dev", True, id="itself"),
        pytest.param("*", "", True, id="anything"),
        pytest.param("de*", "dev", True, id="beginning"),
        pytest.param("*v", "dev", True, id="end"),
        pytest.param("d*v*", "dev", True, id="several"),
        pytest.param("ab*ba", "aba", False, id="no-overlap"),
        pytest.param("d?v", "dev", False, id="no-other-wildcard"),
        pytest.param("a*b*c", "axbxbc", True, id="middle"),
        pytest.param("a*b*c", "ac", False, id="middle-missing"),
    ],
)
def test_a_star_stands_for_any_run_of_characters(spec, name, is_match):
    assert matches(spec, name) is is_match


def test_the_closest_glob_speaks_and_of_equals_the_one_that_sorts_last():
    assert closest(["*", "de*", "d*"], "dev") == "de*"
    assert closest(["*v", "d*"], "dev") == "d*"


def test_an_exact_name_beats_every_glob():
    rights = access('namespace "dev" { }\nnamespace "de*" { policy = "write" }')
    assert not rights.allows("dev", "read-job")
    assert rights.allows("deva", "read-job")


def test_a_glob_nearer_than_a_denying_one_grants():
    rights = access('namespace "*" { policy = "deny" }\nnamespace "de*" { policy = "read" }')
    assert rights.allows("dev", "read-job")
    assert not rights.allows("other", "read-job")


@pytest.mark.parametrize("is_turned", [False, True])
def test_deny_holds_in_whatever_order_policies_come(is_turned):
    texts = ['namespace "a" { policy = "deny" }', 'namespace "a" { policy = "write" }']
    rights = access(*(texts[::-1] if is_turned else texts))
    assert not rights.allows("a", "read-job")
    assert not rights.knows_namespace("a")


def test_policies_of_one_spelling_are_united_and_those_of_another_are_not():
    rights = access(
        'namespace "a" { capabilities = ["read-job"] }',
        'namespace "a" { capabilities = ["submit-job"] }\nnamespace "*" { policy = "write" }',
    )
    assert rights.allows("a", "read-job")
    assert rights.allows("a", "submit-job")
    assert not rights.allows("a", "dispatch-job")


def test_asking_for_all_namespaces_passes_when_any_grants():
    rights = access('namespace "a" { policy = "read" }')
    assert rights.allows("*", "list-jobs")
    assert not rights.allows("*", "submit-job")
    assert not NOBODY.allows("*", "list-jobs")


def test_levels_of_blocks_are_the_strongest_given():
    rights = access(
        'node { policy = "read" }\nagent { policy = "write" }', 'node { policy = "write" }'
    )
    assert rights.writes("node")
    assert rights.reads("agent")
    assert not rights.reads("operator")
    denied = access('node { policy = "deny" }', 'node { policy = "write" }')
    assert not denied.reads("node")


def test_writing_plugins_lets_nobody_see_them():
    assert not access('plugin { policy = "write" }').lists_plugins()
    assert access('plugin { policy = "list" }').lists_plugins()
    assert not access('plugin { policy = "list" }').reads_plugins()


def test_the_operator_level_write_stands_for_every_capability_even_beside_a_deny():
    rights = access('operator { policy = "write" }', 'operator { capabilities = ["deny"] }')
    assert rights.allows_operator("snapshot-save")
    assert not access('operator { policy = "read" }').allows_operator("snapshot-save")


def test_of_variables_the_exact_rule_speaks_then_the_tasks_own_then_globs():
    own = [variable_name("default", "nomad/jobs/web")]
    task = access('namespace "*" { variables { path "*" { capabilities = ["write"] } } }', own=own)
    assert task.allows_variable("default", "nomad/jobs/web", "read")
    assert not task.allows_variable("default", "nomad/jobs/web", "write")
    assert task.allows_variable("default", "other", "write")
    taken = access(
        'namespace "default" { variables { path "nomad/jobs/web" { capabilities = ["deny"] } } }',
        own=own,
    )
    assert not taken.allows_variable("default", "nomad/jobs/web", "read")


def test_deny_of_a_variables_path_clears_nothing_granted_elsewhere():
    rights = access(
        'namespace "a" { variables { path "x" { capabilities = ["deny"] } } }',
        'namespace "a" { variables { path "x" { capabilities = ["read"] } } }',
    )
    assert rights.allows_variable("a", "x", "read")
    assert rights.allows_variable("a", "x", "list")


def test_pools_and_host_volumes_are_found_like_namespaces():
    rights = access(
        'node_pool "gpu*" { policy = "read" }\nhost_volume "data" { policy = "write" }'
    )
    assert rights.allows_pool("gpu-1", "read")
    assert not rights.allows_pool("gpu-1", "write")
    assert rights.has_any_pool()
    assert rights.allows_host_volume("data", "mount-readonly", "mount-readwrite")
    assert not rights.allows_host_volume("other", "mount-readonly")


def _names(letters):
    return st.lists(st.sampled_from(letters), min_size=1, max_size=4).map("".join)


@given(
    st.lists(
        st.tuples(_names("ab*"), st.sampled_from(["read", "write", "deny", "scale"])), max_size=6
    ),
    _names("ab"),
    st.sampled_from(sorted(KNOWN["namespace"] - {"deny"})),
)
def test_no_policies_give_more_than_management_and_none_gives_less_than_nobody(
    blocks, namespace, capability
):
    text = "\n".join(f'namespace "{name}" {{ policy = "{level}" }}' for name, level in blocks)
    rights = access(text)
    assert MANAGEMENT.allows(namespace, capability)
    assert not NOBODY.allows(namespace, capability)
    if rights.allows(namespace, capability):
        assert rights.knows_namespace(namespace)
        assert rights.allows("*", capability)


@pytest.mark.parametrize(
    ("policy", "sees_all"),
    [
        pytest.param('namespace "*" { policy = "read" }', True, id="the-star"),
        pytest.param('namespace "a*" { policy = "read" }', False, id="a-narrower-glob"),
        pytest.param('namespace "a" { policy = "read" }', False, id="a-name"),
        pytest.param(
            'namespace "*" { policy = "read" }\nnamespace "a" { policy = "deny" }',
            False,
            id="one-is-denied",
        ),
        pytest.param(
            'namespace "*" { policy = "read" }\nnamespace "a*" { policy = "scale" }',
            True,
            id="a-narrower-glob-grants-it-too",
        ),
    ],
)
def test_everywhere_means_namespaces_to_come_as_well(policy, sees_all):
    rights = access(policy)
    assert rights.allows_everywhere("read-job") is sees_all
    assert (rights.namespaces_among(["a", "b"], "read-job") is None) is sees_all


def test_lists_hold_the_namespaces_whose_closest_rule_grants():
    rights = access(
        'namespace "team-*" { policy = "read" }',
        'namespace "team-secret" { policy = "deny" }',
        'namespace "old" { policy = "read" }',
    )
    names = ["default", "team-a", "team-secret"]
    # One that a policy names may hold objects though it is not there any more.
    assert rights.namespaces_among(names, "read-job") == {"team-a", "old"}
    assert rights.namespaces_among(names, "submit-job") == frozenset()
    assert rights.has_globs


@given(st.lists(st.sampled_from(sorted(NAMESPACES_OF_RULES)), max_size=4))
def test_the_namespaces_of_a_list_are_those_where_a_single_object_may_be_read(spellings):
    rights = access(*(NAMESPACES_OF_RULES[spelling] for spelling in spellings))
    names = {"a", "ab", "b", "default"}
    listed = rights.namespaces_among(names, "read-job")
    seen = {name for name in names if rights.allows(name, "read-job")}
    assert seen == (names if listed is None else listed & names)


def test_asking_about_any_namespace_passes_over_denied_and_empty_rules():
    assert access('namespace "a*" { policy = "read" }').knows_namespace("*")
    assert not access('namespace "a*" { policy = "deny" }').knows_namespace("*")
    assert not access('namespace "a" { }').knows_namespace("*")
    assert not NOBODY.knows_namespace("*")
