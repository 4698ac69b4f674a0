"""Access policies for those who write them: the list, one with what it adds up to, its problems.

In: a reader and a policy, stored or as it was typed. Out: the contexts of the pages, and every
problem at its line.
"""

import re
from typing import Any

import msgspec

from cluster.policies.read import PolicyProblems, read_policy
from cluster.store.ports import RecordReader
from dashboard.people import GroupGrant, groups_by_policy, person_with
from dashboard.queries.access_tabs import access_tabs
from dashboard.queries.rights_told import ClusterRight, RightsPlace, cluster_rights, rights_table
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, one_of
from scheduler.state.nouns import ACL_POLICIES, ACL_ROLES, ACL_TOKENS
from scheduler.structs.acl_policy import AclPolicy

_PLACE = re.compile(r"\(?\b[Aa]t (\d+):(\d+)\)?:? ?")
_WORDS = ("Failed to parse ACL Policy: ", "failed to parse rules: ", "policy 0 invalid: ")


class PolicyProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with a policy; `line` 0: not of one line. As the editor takes it."""

    message: str
    line: int = 0
    column: int = 0
    severity: str = "error"
    path: str = "The policy"


class PolicyLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the list."""

    policy: AclPolicy
    groups: tuple[str, ...]
    places: tuple[RightsPlace, ...]
    cluster: tuple[ClusterRight, ...]


def policies_page(reader: RecordReader, _viewer: Viewer) -> dict[str, Any]:
    """The context of the list."""
    groups = groups_by_policy()
    return {
        "policies": [
            _line(policy, groups.get(policy.name, ()))
            for policy in sorted(reader.list_all(ACL_POLICIES), key=lambda each: each.name)
        ],
        "tabs": access_tabs(reader, "/access/policies/"),
        "crumbs": crumbs(("Access", "/access/"), ("Policies", "")),
    }


def policy_page(
    reader: RecordReader, _viewer: Viewer, *, name: str, typed: AclPolicy | None = None
) -> dict[str, Any]:
    """The context of one policy's form; raises Absent. `typed`: as it was sent, not stored."""
    stored = reader.get(ACL_POLICIES, name) if name else None
    if name and stored is None and typed is None:
        raise Absent
    policy = typed or stored or AclPolicy()
    groups = groups_by_policy().get(policy.name, ())
    return {
        "used_told": _used_by(reader, policy.name, groups) if name else "",
        "policy": policy,
        "stored": stored,
        "is_new": not name,
        "used_by": groups,
        **preview(policy),
        "crumbs": crumbs(
            ("Access", "/access/"), ("Policies", "/access/policies/"), (name or "New", "")
        ),
    }


def preview(policy: AclPolicy) -> dict[str, Any]:
    """What a policy alone adds up to."""
    person = person_with([GroupGrant("", policy.name, policy)])
    lines = [line for line in cluster_rights(person.access, []) if line.has and not line.follows]
    return {**rights_table(person), "cluster": lines, "has_origin": False}


def problems_of_rules(rules: str) -> list[PolicyProblem]:
    """Everything wrong with a text, by line where it names one."""
    try:
        read_policy(rules)
    except PolicyProblems as error:
        return [problem_of(told) for told in error.problems]
    return []


def problems_of_refusal(refused: Exception) -> list[PolicyProblem]:
    """The problems that a refusal lists."""
    _, *items = str(refused).split("\n\t* ")
    return [problem_of(item.strip()) for item in items] or [PolicyProblem(message=str(refused))]


def problem_of(told: str) -> PolicyProblem:
    """A problem in words, with the place that stood in them beside it."""
    place = _PLACE.search(told)
    words = _PLACE.sub("", told, count=1).strip()
    for prefix in _WORDS:
        words = words.removeprefix(prefix)
    words = words[:1].upper() + words[1:]
    if place is None:
        return PolicyProblem(message=words)
    return PolicyProblem(message=words, line=int(place[1]), column=int(place[2]))


def _used_by(reader: RecordReader, name: str, groups: tuple[str, ...]) -> str:
    """Who has a policy, counted; "" where nobody has it."""
    roles = sum(
        any(link.name == name for link in each.policies) for each in reader.list_all(ACL_ROLES)
    )
    tokens = sum(name in each.policies for each in reader.list_all(ACL_TOKENS))
    counted = [
        count_of(len(groups), "{count} group", "{count} groups") if groups else "",
        count_of(roles, "{count} role", "{count} roles") if roles else "",
        count_of(tokens, "{count} token", "{count} tokens") if tokens else "",
    ]
    having = [told for told in counted if told]
    return one_of(having, "and") if having else ""


def _line(policy: AclPolicy, groups: tuple[str, ...]) -> PolicyLine:
    shown = preview(policy)
    return PolicyLine(
        policy=policy,
        groups=groups,
        places=tuple(shown["places"]),
        cluster=tuple(shown["cluster"]),
    )
