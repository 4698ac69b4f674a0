"""The words of the policy language: levels, capabilities, and what stands for what (access.md 1).

Tables only: `rules` expands with them, the reader of policy texts checks with them.
"""

from collections.abc import Mapping
from enum import StrEnum

DENY = "deny"


class Level(StrEnum):
    """The `policy` of a block: a word for a set of capabilities."""

    DENY = "deny"
    READ = "read"
    LIST = "list"
    WRITE = "write"
    SCALE = "scale"


#: Levels of every block but `plugin`.
LEVELS = frozenset({Level.DENY, Level.READ, Level.WRITE, Level.SCALE})
PLUGIN_LEVELS = frozenset({Level.DENY, Level.READ, Level.LIST, Level.WRITE})

_NAMESPACE_READ = (
    "list-jobs", "parse-job", "read-job", "csi-list-volume", "csi-read-volume",
    "read-job-scaling", "list-scaling-policies", "read-scaling-policy", "host-volume-read",
)  # fmt: skip
_NAMESPACE_WRITE = (
    *_NAMESPACE_READ,
    "scale-job", "submit-job", "dispatch-job", "read-logs", "read-fs", "alloc-exec",
    "alloc-lifecycle", "csi-mount-volume", "csi-write-volume", "submit-recommendation",
    "host-volume-create",
)  # fmt: skip
_NAMESPACE_SCALE = (
    "list-scaling-policies", "read-scaling-policy", "read-job-scaling", "scale-job", "read-job",
    "submit-recommendation",
)  # fmt: skip

#: Block to level to the capabilities it appends, in the order in which a policy shows them.
OF_LEVEL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "namespace": {
        Level.DENY: (DENY,),
        Level.READ: _NAMESPACE_READ,
        Level.WRITE: _NAMESPACE_WRITE,
        Level.SCALE: _NAMESPACE_SCALE,
    },
    "node_pool": {
        Level.DENY: (DENY,),
        Level.READ: ("read",),
        Level.WRITE: ("delete", "read", "write"),
    },
    "host_volume": {
        Level.DENY: (DENY,),
        Level.READ: ("mount-readonly",),
        Level.WRITE: ("mount-readonly", "mount-readwrite"),
    },
    "operator": {
        Level.DENY: (DENY,),
        Level.READ: ("license-read", "keyring-read"),
        Level.WRITE: (
            "snapshot-save", "license-read", "keyring-rotate", "keyring-read", "keyring-delete",
        ),
    },
    "sentinel": {
        Level.DENY: (DENY,),
        Level.READ: ("sentinel-read",),
        Level.WRITE: ("sentinel-read", "sentinel-submit", "sentinel-delete"),
    },
}  # fmt: skip

#: Halves of `submit-job`: each can be granted alone, and `submit-job` stands for every one.
PARTS_OF_SUBMIT = (
    "register-job", "revert-job", "deregister-job", "purge-job", "evaluate-job", "plan-job",
    "tag-job-version", "stable-job", "fail-deployment", "pause-deployment", "promote-deployment",
    "unblock-deployment", "cancel-deployment", "set-alloc-health-deployment", "gc-allocation",
    "pause-allocation", "force-periodic-job", "delete-service-registration",
)  # fmt: skip

#: Ours: jobs with tasks of drivers that run without isolation. No level and no other capability
#: stands for it.
PRIVILEGED = "submit-privileged-job"

#: Block to every capability that a policy may name there.
KNOWN: Mapping[str, frozenset[str]] = {
    "namespace": frozenset(
        {
            DENY, *_NAMESPACE_WRITE, *PARTS_OF_SUBMIT, "alloc-node-exec", "sentinel-override",
            "csi-register-plugin", "host-volume-register", "host-volume-write",
            "host-volume-delete", PRIVILEGED,
        }
    ),
    "node_pool": frozenset({DENY, "delete", "read", "write"}),
    "host_volume": frozenset({DENY, "mount-readonly", "mount-readwrite"}),
    "operator": frozenset(
        {DENY, "snapshot-save", "license-read", "keyring-rotate", "keyring-read", "keyring-delete"}
    ),
    "sentinel": frozenset({DENY, "sentinel-read", "sentinel-submit", "sentinel-delete"}),
    "variables": frozenset({DENY, "list", "read", "write", "destroy"}),
}  # fmt: skip

#: What one namespace capability brings along, appended behind the level's.
IMPLIED: Mapping[str, tuple[str, ...]] = {
    "host-volume-write": (
        "host-volume-register", "host-volume-create", "host-volume-delete", "host-volume-read",
    ),
    "host-volume-register": ("host-volume-create", "host-volume-read"),
    "host-volume-create": ("host-volume-read",),
}  # fmt: skip
