"""What would be lost and gained, in words, where one policy takes another's place."""

import pytest

from cluster.operations.policy_rights import access_by_texts
from dashboard.access_changes import access_change
from dashboard.queries.rights_told import VERBS

READ = 'namespace "default" { policy = "read" }'
GLOB = 'namespace "*" { policy = "read" }'
LOOK = "Look and Output"


def changed(before, after, namespaces=("default", "shop")):
    return access_change(access_by_texts([before]), access_by_texts([after]), namespaces, VERBS)


@pytest.mark.parametrize(
    ("before", "after", "lost", "gained"),
    [
        pytest.param(READ, READ + "\n# the same", (), (), id="the-same"),
        pytest.param(
            'namespace "shop" { capabilities = ["read-job", "submit-job"] }',
            'namespace "shop" { capabilities = ["read-job", "scale-job"] }',
            ("Submit and Stop in shop",), (), id="verbs",
        ),
        pytest.param(
            'namespace "*" { capabilities = ["read-job"] }',
            'namespace "*" { capabilities = ["read-job"] }\nnamespace "shop" { policy = "deny" }',
            ("Look in shop",), (), id="a-refusal-takes-one-place-out",
        ),
        pytest.param(
            'namespace "d*" { capabilities = ["read-job"] }\n'
            'namespace "*" { capabilities = ["read-job"] }',
            'namespace "*" { capabilities = ["read-job"] }',
            (), (), id="a-glob-that-a-wider-one-covers",
        ),
        pytest.param(
            "", 'namespace "*" { capabilities = ["read-job"] }',
            (), ("Look in default, shop and every other namespace",), id="everywhere",
        ),
        pytest.param(
            'namespace "shop" { capabilities = ["parse-job"] }', "",
            ("other rights in shop",), (), id="what-no-verb-names",
        ),
        pytest.param(
            'node { policy = "write" }', 'node { policy = "read" }\nagent { policy = "read" }',
            ("node:write",), ("agent:read",), id="levels",
        ),
        pytest.param(
            'operator { capabilities = ["keyring-read"] }', "", ("keyring-read",), (),
            id="of-operators",
        ),
        pytest.param(
            'node_pool "gpu" { policy = "write" }', 'node_pool "*" { policy = "read" }',
            ("node pool gpu: delete and write",), ("node pool *: read",), id="pools",
        ),
        pytest.param(
            'namespace "shop" { variables { path "db/*" { capabilities = ["read", "write"] } } }',
            'namespace "shop" { variables { path "db/*" { capabilities = ["list"] } } }',
            ("variables db/* in shop: read and write",), (), id="variables",
        ),
    ],
)  # fmt: skip
def test_what_is_lost_and_gained_is_told_by_place(before, after, lost, gained):
    assert changed(before, after) == (lost, gained)
    assert changed(after, before) == (gained, lost)
