from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.policies.read import PolicyProblems, read_policy, read_stored_policy
from scheduler.access.capabilities import OF_LEVEL
from scheduler.access.rules import (
    LevelRule,
    NamedRule,
    NamespaceRule,
    OperatorRule,
    PathRule,
    PolicyRules,
    VariablesRule,
)

WHOLE = """
# People of the shop.
namespace "shop" { policy = "read" capabilities = ["alloc-exec", "host-volume-write"] }
namespace "default" {
  variables {
    path "shop/*" { capabilities = ["read", "write"] }
    path "shop/secret" { capabilities = ["read", "deny"] }
  }
}
node_pool "gpu_1" { policy = "write" }
host_volume "data*" { capabilities = ["mount-readonly"] }
agent { policy = "read" } // one line
node { policy = "write" }
operator { capabilities = ["snapshot-save"] }
quota { policy = "read" }
plugin { policy = "list" }
"""


def test_a_policy_is_read_with_its_levels_expanded():
    read = OF_LEVEL["namespace"]["read"]
    assert read_policy(WHOLE) == PolicyRules(
        namespaces=(
            NamespaceRule(
                name="shop",
                policy="read",
                capabilities=(
                    "alloc-exec", "host-volume-write", *read,
                    "host-volume-register", "host-volume-create", "host-volume-delete",
                    "host-volume-read",
                ),
            ),
            NamespaceRule(
                name="default",
                variables=VariablesRule(
                    paths=(
                        PathRule(path_spec="shop/*", capabilities=("read", "write", "list")),
                        PathRule(path_spec="shop/secret", capabilities=("deny",)),
                    )
                ),
            ),
        ),
        node_pools=(
            NamedRule(name="gpu_1", policy="write", capabilities=("delete", "read", "write")),
        ),
        host_volumes=(NamedRule(name="data*", capabilities=("mount-readonly",)),),
        agent=LevelRule(policy="read"),
        node=LevelRule(policy="write"),
        quota=LevelRule(policy="read"),
        plugin=LevelRule(policy="list"),
        operator=OperatorRule(capabilities=("snapshot-save",)),
        raw=WHOLE,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("as_hcl", "as_json"),
    [
        pytest.param(
            'namespace "default" { policy = "read" }\nnode { policy = "read" }',
            '{"namespace": {"default": {"policy": "read"}}, "node": {"policy": "read"}}',
            id="labels-are-members",
        ),
        pytest.param(
            'namespace "a" { variables { path "x" { capabilities = ["list"] } } }',
            '{"namespace": {"a": {"variables": {"path": {"x": {"capabilities": ["list"]}}}}}}',
            id="paths-too",
        ),
    ],
)
def test_json_says_the_same(as_hcl, as_json):
    hcl, json = read_policy(as_hcl), read_policy(as_json)
    assert msgspec.structs.replace(hcl, raw="") == msgspec.structs.replace(json, raw="")


def test_an_empty_text_is_a_policy_without_rights():
    assert read_policy(" \n") == PolicyRules(raw=" \n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            'namespace "a" {\n policy = "read"\n',
            "At 3:1: object expected closing RBRACE got: EOF",
            id="open-block",
        ),
        pytest.param(
            "x",
            "At 1:2: key 'x' expected start of object ('{') or assignment ('=')",
            id="word-alone",
        ),
        pytest.param(
            'namespace "a" { policy = ["read"] }',
            "At 1:26: root.namespace.policy: a text is expected",
            id="list-for-text",
        ),
        pytest.param("bogus {}", "Invalid policy: bogus {}", id="no-known-block"),
        pytest.param(
            'namespace "a b" { policy = "read" }',
            "Invalid namespace name 'a b' (at 1:17)",
            id="namespace-name",
        ),
        pytest.param(
            'namespace "a" { policy = "list" }',
            "Invalid namespace policy 'list' for 'a' (at 1:15)",
            id="namespace-level",
        ),
        pytest.param(
            'namespace "a" { capabilities = ["nope"] }',
            "Invalid namespace capability 'nope' for 'a' (at 1:15)",
            id="namespace-capability",
        ),
        pytest.param(
            'namespace "a" { variables {} }',
            "Invalid variable policy: no variable paths in namespace a (at 1:15)",
            id="no-paths",
        ),
        pytest.param(
            'namespace "a" { variables { path "/x" { capabilities = ["read"] } } }',
            "cannot start with a leading '/'",
            id="leading-slash",
        ),
        pytest.param(
            'node_pool "a" { policy = "list" }',
            "Invalid node pool policy 'list' for 'a' (at 1:15)",
            id="pool-level",
        ),
        pytest.param("agent {}", "Invalid agent policy: '' (at 1:7)", id="level-missing"),
        pytest.param(
            'operator { capabilities = ["x"] }',
            "Invalid operator capability 'x' (at 1:10)",
            id="operator-capability",
        ),
        pytest.param(
            'node { policy = "read" }\nnode { policy = "read" }',
            "Invalid or duplicate policy keys: node",
            id="repeated",
        ),
        pytest.param(
            'bogus "x" {}\nnode { policy = "read" }',
            "Invalid or duplicate policy keys: bogus, x",
            id="unknown",
        ),
    ],
)
def test_a_text_that_is_no_policy_is_refused_with_the_reason(text, said):
    with pytest.raises(PolicyProblems) as refused:
        read_policy(text)
    assert said in str(refused.value)


def test_every_problem_is_named():
    text = 'namespace "a b" { policy = "x" }\nnode { policy = "list" }\nbogus {}'
    with pytest.raises(PolicyProblems) as refused:
        read_policy(text)
    assert refused.value.problems == [
        "Invalid namespace name 'a b' (at 1:17)",
        "Invalid namespace policy 'x' for 'a b' (at 1:17)",
        "Invalid node policy: 'list' (at 2:6)",
        "Invalid or duplicate policy keys: bogus",
    ]


def test_empty_operator_and_namespace_blocks_grant_nothing_and_pass():
    assert read_policy('operator {}\nnamespace "x" {}') == PolicyRules(
        namespaces=(NamespaceRule(name="x"),),
        operator=OperatorRule(),
        raw='operator {}\nnamespace "x" {}',
    )


def test_unknown_keys_inside_a_block_and_in_a_stored_policy_are_passed_over():
    read_policy('namespace "x" { policy = "read" colour = "red" }')
    assert read_stored_policy('later {}\nnode { policy = "read" }').node == LevelRule(
        policy="read"
    )


@given(st.lists(st.sampled_from('namespace"{}[]=:,.*/\\\n deny<E'), max_size=80).map("".join))
def test_any_text_is_read_or_refused(text):
    with suppress(PolicyProblems):
        read_policy(text)
