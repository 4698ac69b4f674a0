"""Which right each page, button and topic asks for: tables, asked before anything is read.

In: an `Access`. Out: yes or no, and the right in words. What has a namespace is asked twice: here
whether it may be in any namespace, then for the namespace of what was found (access.md 8).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Self

import msgspec
from django.utils.translation import gettext_noop

from scheduler.access.access import EVERY_NAMESPACE, Access


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """A right by name, and what it lets a person do."""

    #: As policies and refusals spell it.
    word: str
    #: Completes "you may ...".
    told: str
    holds: Callable[[Access], bool]


def somewhere(told: str, *capabilities: str) -> Right:
    """One of the capabilities, in any namespace; the first one gives the name."""
    return Right(
        word=capabilities[0],
        told=told,
        holds=lambda access: access.allows(EVERY_NAMESPACE, *capabilities),
    )


def reads_everywhere(access: Access, capability: str = "read-job") -> bool:
    """Whether no namespace, present or to come, is hidden from the caller."""
    return access.is_management or (
        capability in access.namespaces.globs.get(EVERY_NAMESPACE, ())
        and all(capability in granted for granted in access.namespaces.sets())
    )


#: What a button of a namespace's things asks for: any one of these capabilities in it.
ACTIONS: Mapping[str, tuple[str, ...]] = {
    "plan": ("submit-job", "plan-job"),
    "run": ("submit-job", "register-job"),
    "stop": ("submit-job", "deregister-job", "purge-job"),
    "purge": ("submit-job", "purge-job"),
    "evaluate": ("submit-job", "evaluate-job"),
    "launch": ("submit-job", "dispatch-job", "force-periodic-job"),
    "dispatch": ("dispatch-job",),
    "scale": ("submit-job", "scale-job"),
    "revert": ("submit-job", "revert-job"),
    "mark-stable": ("submit-job", "stable-job"),
    "tag": ("submit-job", "tag-job-version"),
    "promote": ("submit-job", "promote-deployment"),
    "pause": ("submit-job", "pause-deployment"),
    "fail": ("submit-job", "fail-deployment"),
    "restart-allocation": ("alloc-lifecycle",),
    "stop-allocation": ("alloc-lifecycle",),
    "create-volume": ("host-volume-create",),
    "delete-volume": ("host-volume-delete",),
    "output": ("read-logs", "read-fs"),
    "files": ("read-fs",),
    "terminal": ("alloc-exec",),
    # Besides, for tasks that have their host around them.
    "terminal-on-host": ("alloc-node-exec",),
}
#: Of what belongs to no namespace.
NODE_WRITE, NODE_READ = "node:write", "node:read"
QUOTA_READ = "quota:read"

EVERYBODY = Right(word="", told=gettext_noop("open this page"), holds=lambda _: True)
LOOK = somewhere(gettext_noop("look at jobs"), "read-job")
READ_NODES = Right(
    word=NODE_READ, told=gettext_noop("look at nodes"), holds=lambda access: access.reads("node")
)
WRITE_NODES = Right(
    word=NODE_WRITE, told=gettext_noop("change nodes"), holds=lambda access: access.writes("node")
)
LOOK_OR_NODES = Right(
    word="read-job",
    told=gettext_noop("look at the cluster"),
    holds=lambda access: LOOK.holds(access) or READ_NODES.holds(access),
)
EVERYTHING = Right(
    word="management",
    told=gettext_noop("do everything"),
    holds=lambda access: access.is_management,
)
#: A capsule holds every node and all work on them.
WHOLE_RECORD = Right(
    word=gettext_noop("read-job and node:read everywhere"),
    told=gettext_noop("take a capsule along"),
    holds=lambda access: reads_everywhere(access) and access.reads("node"),
)


#: Every job, evaluation and allocation there is.
ALL_WORK = Right(
    word=gettext_noop("read-job in every namespace"),
    told=gettext_noop("look at all work"),
    holds=reads_everywhere,
)
#: Each path is asked for by itself.
SOME_VARIABLES = Right(
    word=gettext_noop("a rule on variables"),
    told=gettext_noop("look at variables"),
    holds=lambda access: access.has_any_variable(EVERY_NAMESPACE),
)
LOOK_AT_VOLUMES = somewhere(gettext_noop("look at volumes"), "host-volume-read")
READ_OPERATOR = Right(
    word="operator:read",
    told=gettext_noop("look inside"),
    holds=lambda access: access.reads("operator"),
)
READ_QUOTAS = Right(
    word=QUOTA_READ,
    told=gettext_noop("look at quotas"),
    holds=lambda access: access.reads("quota"),
)
WRITE_OPERATOR = Right(
    word="operator:write",
    told=gettext_noop("change the scheduler's settings"),
    holds=lambda access: access.writes("operator"),
)
ROTATE_KEYS = Right(
    word="keyring-rotate",
    told=gettext_noop("rotate the root key"),
    holds=lambda access: access.allows_operator("keyring-rotate"),
)
ENTER_ADMIN = Right(
    word=NODE_WRITE,
    told=gettext_noop("enter the admin"),
    holds=lambda access: access.writes("node") or access.writes("operator"),
)


class ListedPaths(msgspec.Struct, frozen=True):
    """Which variables somebody may list. Equal ones see the same rows, and share what is told."""

    #: By the names of rules, as an Access has them; whether they grant `list`.
    rules: frozenset[tuple[str, bool]]
    own: frozenset[str] = frozenset()

    @classmethod
    def of(cls, access: Access) -> Self | None:
        """Of a caller; None for those who may list all."""
        if access.is_management:
            return None
        rules = frozenset((name, "list" in may) for name, may in access.variables.items())
        return cls(rules, access.own_variables)

    def lists(self, namespace: str, path: str) -> bool:
        """Whether a variable may be listed."""
        return _access_to(self).allows_variable(namespace, path, "list")


@lru_cache(maxsize=256)
def _access_to(paths: ListedPaths) -> Access:
    grants = {name: frozenset({"list"} if lists else ()) for name, lists in paths.rules}
    return Access(variables=grants, own_variables=paths.own)


def _button(told: str, action: str) -> Right:
    return somewhere(told, *ACTIONS[action])


#: By the name of the address. An address without a line here is opened by nobody.
ROUTES: Mapping[str, Right] = {
    # Everybody's own, and nobody else's.
    "account": EVERYBODY,
    "account-notices": EVERYBODY,
    "account-password": EVERYBODY,
    # What each of them tells is asked for where it is read.
    "notices": EVERYBODY,
    "account-session-end": EVERYBODY,
    "account-sessions-end": EVERYBODY,
    "account-token-make": EVERYBODY,
    "account-token-revoke": EVERYBODY,
    "namespace-choose": EVERYBODY,
    "now": LOOK_OR_NODES,
    "events": LOOK_OR_NODES,
    "demo-begin": EVERYTHING,
    "search": LOOK_OR_NODES,
    "search-suggest": LOOK_OR_NODES,
    "states": EVERYBODY,
    "jobs": LOOK,
    "job": LOOK,
    "job-named": LOOK,
    "job-checks": LOOK,
    "job-usage": LOOK,
    "evaluations": LOOK,
    "evaluation": LOOK,
    "explain": LOOK,
    "capsule": WHOLE_RECORD,
    "chain": LOOK,
    "chain-file": LOOK,
    "deployments": LOOK,
    "deployment": LOOK,
    "deployment-compared": LOOK,
    "stories": LOOK_OR_NODES,
    "story": LOOK_OR_NODES,
    "story-file": LOOK_OR_NODES,
    "services": LOOK,
    "service-checks": LOOK,
    "allocations": LOOK,
    "allocation": LOOK,
    "allocation-usage": LOOK,
    "allocation-files": _button(gettext_noop("read files"), "files"),
    "allocation-file": _button(gettext_noop("read files"), "files"),
    "allocation-file-follow": _button(gettext_noop("read files"), "files"),
    "allocation-terminal": _button(gettext_noop("open terminals"), "terminal"),
    "allocation-logs": _button(gettext_noop("read output"), "output"),
    "allocation-output": _button(gettext_noop("read output"), "output"),
    "nodes": READ_NODES,
    "node": READ_NODES,
    "node-usage": READ_NODES,
    "topology": READ_NODES,
    "what-if": READ_NODES,
    # What each change shows besides is asked for where it is read.
    "what-if-ask": READ_NODES,
    # Those of people; jobs of other namespaces hide them, and only their owners change them.
    "what-if-saved": READ_NODES,
    "what-if-save": READ_NODES,
    "what-if-rename": READ_NODES,
    "what-if-delete": READ_NODES,
    "rehearsed-story-file": READ_NODES,
    "rehearsal": READ_NODES,
    "job-rehearsed": READ_NODES,
    "rehearsed-story": READ_NODES,
    # Its own, or for managers; the operation asks.
    "rehearsal-cancel": READ_NODES,
    "drains": READ_NODES,
    "drain": READ_NODES,
    "staged-drain": READ_NODES,
    "namespaces": LOOK,
    "namespace": LOOK,
    "pools": READ_NODES,
    "pool": READ_NODES,
    "quotas": READ_QUOTAS,
    "quota": READ_QUOTAS,
    "variables": SOME_VARIABLES,
    "variable": SOME_VARIABLES,
    "variable-new": SOME_VARIABLES,
    "variable-show": SOME_VARIABLES,
    "variable-delete": SOME_VARIABLES,
    "volumes": LOOK_AT_VOLUMES,
    "volume": LOOK_AT_VOLUMES,
    "volume-new": _button(gettext_noop("make volumes"), "create-volume"),
    "volume-delete": _button(gettext_noop("delete volumes"), "delete-volume"),
    "access": EVERYTHING,
    "access-policies": EVERYTHING,
    "access-policy": EVERYTHING,
    "access-policy-new": EVERYTHING,
    "access-policy-check": EVERYTHING,
    "access-policy-delete": EVERYTHING,
    "access-tokens": EVERYTHING,
    "access-token-make": EVERYTHING,
    "access-token-revoke": EVERYTHING,
    "access-roles": EVERYTHING,
    "access-role-save": EVERYTHING,
    "access-role-delete": EVERYTHING,
    "access-joins": EVERYTHING,
    "access-join-make": EVERYTHING,
    "access-join-revoke": EVERYTHING,
    "audit": READ_OPERATOR,
    "scheduler": READ_OPERATOR,
    "scheduler-change": WRITE_OPERATOR,
    "inside": READ_OPERATOR,
    "inside-collect": EVERYTHING,
    "inside-collection": EVERYTHING,
    "audit-newer": READ_OPERATOR,
    "audit-json": READ_OPERATOR,
    "node-eligibility": WRITE_NODES,
    "drain-cancel": WRITE_NODES,
    "staged-drain-cancel": WRITE_NODES,
    "job-new": _button(gettext_noop("plan and submit jobs"), "plan"),
    "job-check": _button(gettext_noop("check job files"), "plan"),
    "job-edit": _button(gettext_noop("plan and submit jobs"), "plan"),
    "job-edit-named": _button(gettext_noop("plan and submit jobs"), "plan"),
    "job-evaluate": _button(gettext_noop("evaluate jobs"), "evaluate"),
    "job-purge": _button(gettext_noop("purge jobs"), "purge"),
    "job-start": _button(gettext_noop("start jobs"), "run"),
    "job-stop": _button(gettext_noop("stop jobs"), "stop"),
    "job-launch": _button(gettext_noop("launch periodic jobs"), "launch"),
    "job-dispatch": _button(gettext_noop("dispatch jobs"), "dispatch"),
    "job-scale": _button(gettext_noop("scale jobs"), "scale"),
    "job-compare": _button(gettext_noop("plan jobs"), "plan"),
    "job-revert": _button(gettext_noop("go back to versions of jobs"), "revert"),
    "job-mark-stable": _button(gettext_noop("mark versions of jobs as stable"), "mark-stable"),
    "job-tag": _button(gettext_noop("tag versions of jobs"), "tag"),
    "job-untag": _button(gettext_noop("take tags off versions of jobs"), "tag"),
    "allocation-restart": _button(gettext_noop("restart allocations"), "restart-allocation"),
    "allocation-stop": _button(gettext_noop("stop allocations"), "stop-allocation"),
    "deployment-fail": _button(gettext_noop("fail rollouts"), "fail"),
    "deployment-pause": _button(gettext_noop("pause rollouts"), "pause"),
    "deployment-promote": _button(gettext_noop("promote canaries"), "promote"),
}
#: By the kind of a topic; of a namespace's things the namespace is asked for as well.
TOPICS: Mapping[str, Right] = {
    "navigation": EVERYBODY,
    "overview": LOOK_OR_NODES,
    "events": LOOK_OR_NODES,
    "jobs": LOOK,
    "job": LOOK,
    "job-allocations": LOOK,
    "job-by-node": LOOK,
    "job-by-number": LOOK,
    "job-by-state": LOOK,
    "job-launches": LOOK,
    "job-launches-day": LOOK,
    "job-launches-week": LOOK,
    "job-dispatched": LOOK,
    "job-dispatched-running": LOOK,
    "job-dispatched-failed": LOOK,
    "job-deployments": LOOK,
    "job-evaluations": LOOK,
    "job-stories": LOOK,
    "versions": LOOK,
    "evaluations": LOOK,
    "evaluation": LOOK,
    "explain": LOOK,
    "chain": LOOK,
    "tidy": LOOK,
    "timeline": LOOK,
    "deployments": LOOK,
    "deployment": LOOK,
    "stories": LOOK_OR_NODES,
    "story": LOOK_OR_NODES,
    "services": LOOK,
    "allocations": LOOK,
    "allocation": LOOK,
    "nodes": READ_NODES,
    "node": READ_NODES,
    "topology": READ_NODES,
    "drains": READ_NODES,
    "staged": READ_NODES,
    "namespaces": LOOK,
    "pools": READ_NODES,
    "quotas": READ_QUOTAS,
    "scheduler": READ_OPERATOR,
    "variables": SOME_VARIABLES,
    "volumes": LOOK_AT_VOLUMES,
}
#: What the admin's actions on nodes ask for, and its pages that stand between.
ADMIN_ACTIONS: Mapping[str, Right] = {
    "drain_selected": WRITE_NODES,
    "cancel_selected": WRITE_NODES,
    "set_eligible": WRITE_NODES,
    "set_ineligible": WRITE_NODES,
    "purge_selected": WRITE_NODES,
    "stop_selected": _button(gettext_noop("stop jobs"), "stop"),
    "test_selected": WRITE_OPERATOR,
}
#: Parts of the site beyond our own addresses.
AREAS: Mapping[str, Right] = {"admin": ENTER_ADMIN}
#: Addresses for whoever comes, signed in or not.
OPEN = frozenset({"login", "login-once", "logout", "provider", "provider-back", "provider-leave"})


class Opens:
    """The names of the addresses that somebody may open, for templates: `"jobs" in opens`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def __contains__(self, name: object) -> bool:
        right = ROUTES.get(str(name)) or AREAS.get(str(name))
        return right is not None and right.holds(self._access)


def actions_in(access: Access, namespace: str) -> frozenset[str]:
    """The buttons of a namespace's things that work for the caller."""
    return frozenset(
        action
        for action, capabilities in ACTIONS.items()
        if access.allows(namespace, *capabilities)
    )


def node_actions(access: Access) -> frozenset[str]:
    """What the caller may do with nodes: `node:read`, `node:write`, both or none."""
    return frozenset(right.word for right in (READ_NODES, WRITE_NODES) if right.holds(access))


def scheduler_actions(access: Access) -> frozenset[str]:
    """What the page of the scheduler shows and offers: its settings, and disputed nodes."""
    changes = {WRITE_OPERATOR.word} if WRITE_OPERATOR.holds(access) else frozenset[str]()
    return node_actions(access) | changes


def word_of(action: str) -> str:
    """The right that a button asks for, as refusals spell it."""
    return ACTIONS[action][0] if action in ACTIONS else action
