"""What targets mean on a node."""

import pytest

from scheduler.structs.node_target import resolve_target
from tests.builders import make_node

NODE = make_node(
    7,
    datacenter="dc7",
    node_class="large",
    node_pool="gpu",
    attributes={"kernel.name": "linux", "empty": ""},
    meta={"rack": "r1"},
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("${node.unique.id}", NODE.id, id="T10-id"),
        pytest.param("${node.unique.name}", "node-7", id="T10-name"),
        pytest.param("${node.datacenter}", "dc7", id="T10-datacenter"),
        pytest.param("${node.class}", "large", id="T10-class"),
        pytest.param("${node.pool}", "gpu", id="T10-pool"),
        pytest.param("${node.foo}", None, id="T10-no-such-field"),
        pytest.param("${attr.kernel.name}", "linux", id="T10-attribute"),
        pytest.param("${attr.empty}", "", id="T10-empty-is-found"),
        pytest.param("${attr.rand}", None, id="T10-no-attribute"),
        pytest.param("${meta.rack}", "r1", id="T10-meta"),
        pytest.param("${meta.rand}", None, id="T10-no-meta"),
        pytest.param("${meta.rack}-x", None, id="T10-no-partial-interpolation"),
        pytest.param("${env.HOME}", None, id="T10-environment"),
        pytest.param("linux", "linux", id="T10-literal"),
        pytest.param("", "", id="T10-empty-literal"),
    ],
)
def test_a_target_is_resolved(target, expected):
    assert resolve_target(target, NODE) == expected
