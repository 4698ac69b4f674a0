"""The policies every record begins with, in the policy language; theirs who run it from then on.

They belong to the groups of the same names. Nothing writes them again once any policy was written:
what an administrator changed or deleted stays so.
"""

from typing import NamedTuple


class BuiltIn(NamedTuple):
    """A policy as it is first written."""

    name: str
    description: str
    rules: str


_VIEWER = """\
# Look everywhere, read what tasks write; change nothing.
namespace "*" {
  policy       = "read"
  capabilities = ["read-logs"]
}

node_pool "*" {
  policy = "read"
}

node {
  policy = "read"
}
"""

_SUBMITTER = """\
# Run and stop jobs in the namespace default, and look at nodes.
# Add a block for each further namespace, or write "*" for all of them.
namespace "default" {
  policy = "write"
}

node_pool "*" {
  policy = "read"
}

node {
  policy = "read"
}
"""

_OPERATOR = """\
# Everything but access: all jobs, those without isolation too, nodes and pools, the
# scheduler's settings, quotas.
namespace "*" {
  policy       = "write"
  capabilities = ["submit-privileged-job"]
}

node_pool "*" {
  policy = "write"
}

host_volume "*" {
  policy = "write"
}

node {
  policy = "write"
}

agent {
  policy = "write"
}

operator {
  policy = "write"
}

quota {
  policy = "write"
}

plugin {
  policy = "read"
}
"""

BUILT_IN = (
    BuiltIn("viewer", "Look everywhere, change nothing", _VIEWER),
    BuiltIn("submitter", "Run jobs in the namespace default", _SUBMITTER),
    BuiltIn("operator", "Everything but access", _OPERATOR),
)
