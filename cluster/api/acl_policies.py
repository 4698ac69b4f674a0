"""Access policies: how they are shown, and their writes (access.md 3)."""

from typing import Any

from django.http import HttpResponse

from cluster.api.acl_callers import is_anonymous, own_policies
from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.watches import watch_table
from cluster.operations.acl_policies import delete_policy, put_policy
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.policies.read import read_stored_policy
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy, JobAcl

NAMELESS_POLICY = "Missing Policy Name"
#: What the list leaves to a read of one policy.
_LONG = ("Rules", "JobACL")


async def write_policy(call: Call, name: str) -> HttpResponse:
    """PUT /v1/acl/policy/<name>: replaces all of it."""
    if not name:
        raise OperationRefused(NAMELESS_POLICY)
    body = call.body("ACLPolicy")
    if body.text("Name") != name:
        raise OperationRefused("ACL policy name does not match request path")
    job = body.nested("JobACL")
    policy = AclPolicy(
        name=name,
        description=body.text("Description"),
        rules=body.text("Rules"),
        job_acl=None
        if job is None
        else JobAcl(
            namespace=job.text("Namespace"),
            job_id=job.text("JobID"),
            group=job.text("Group"),
            task=job.text("Task"),
        ),
    )
    index = await call.write(put_policy, policy, ids=False)
    return answer_write(call.request, None, index)


async def remove_policy(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/acl/policy/<name>."""
    if not name:
        raise OperationRefused(NAMELESS_POLICY)
    index = await call.write(delete_policy, name, ids=False)
    return answer_write(call.request, None, index)


async def list_own_policies(call: Call) -> HttpResponse:
    """GET /v1/acl/policy/self: stubs of the policies that give the caller's token its rights."""
    if is_anonymous(call.caller):
        raise NotAllowed

    def work(reader: StateReader) -> Found:
        names = own_policies(reader, call.caller)
        stored = reader.list_all(ACL_POLICIES)
        own = [policy_stub(policy) for policy in stored if names is None or policy.name in names]
        return Found(index=reader.table_index("acl_policies"), body=own)

    return await answer_read(call, work, watch_table("acl_policies"), watch_table("acl_roles"))


def policy_stub(policy: AclPolicy) -> dict[str, Any]:
    """The policy as lists show it."""
    return {name: item for name, item in to_plain(policy).items() if name not in _LONG}


def policy_form(policy: AclPolicy) -> dict[str, Any]:
    """The policy with `RulesJSON`, in which an absent list is null."""
    rules = to_plain(read_stored_policy(policy.rules))
    return to_plain(policy) | {"RulesJSON": _without_empty_lists(rules)}


def _without_empty_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_empty_lists(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_empty_lists(item) for item in value] or None
    return value
