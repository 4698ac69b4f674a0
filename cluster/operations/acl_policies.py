"""Write and delete access policies.

In: a store and a policy. Out: the index of the write, or `OperationRefused` that names everything
that is wrong with it. What the rules mean is `cluster.policies`' business.
"""

import re

from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_management
from cluster.policies.read import PolicyProblems, read_policy
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy, JobAcl

NAME = re.compile(r"[a-zA-Z0-9-]{1,128}")
LONGEST_DESCRIPTION = 256


def put_policy(store: StateStore, policy: AclPolicy, *, by: Caller, now: int) -> int:
    """Create the policy, or replace what the stored one says; the index of the write.

    The bearers of the policy have the new rights with their next request.
    """
    require_management(by)
    problems = _problems(policy)
    if problems:
        raise OperationRefused(f"policy 0 invalid: {error_text(problems)}")

    def work(change: Change) -> None:
        stored = change.get(ACL_POLICIES, policy.name)
        created = change.index if stored is None else stored.create_index
        change.put(ACL_POLICIES, replace(policy, create_index=created, modify_index=change.index))

    return store.write(ACL_POLICIES.upserted, work, now=now, by=by)[0]


def delete_policy(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a policy, if it is there; the index of the write, or the newest one.

    Tokens and roles go on naming it, and have nothing of it.
    """
    require_management(by)
    if not name:
        raise OperationRefused("Missing Policy Name")

    def work(change: Change) -> None:
        change.delete(ACL_POLICIES, name)

    return store.write(ACL_POLICIES.deleted, work, now=now, by=by)[0]


def _problems(policy: AclPolicy) -> list[str]:
    problems = []
    if not NAME.fullmatch(policy.name):
        problems.append(f"invalid name '{policy.name}'")
    try:
        read_policy(policy.rules)
    except PolicyProblems as error:
        problems += [f"failed to parse rules: {problem}" for problem in error.problems]
    if len(policy.description) > LONGEST_DESCRIPTION:
        problems.append(f"description longer than {LONGEST_DESCRIPTION}")
    if policy.job_acl is not None:
        problems += _problems_of_job(policy.job_acl)
    return problems


def _problems_of_job(job: JobAcl) -> list[str]:
    problems = []
    if job.job_id and not job.namespace:
        problems.append("namespace must be set to set job ID")
    if job.group and not job.job_id:
        problems.append("job ID must be set to set group")
    if job.task and not job.group:
        problems.append("group must be set to set task")
    return problems
