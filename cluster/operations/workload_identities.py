"""Identities of running tasks: signed when an agent asks, believed while the allocation runs.

In: an allocation's task and what its agent shows; or a token. Out: a token; or what its bearer
may do, by the policies whose JobACL is its own and for its own variables (access.md 7.2). Nothing
is written.
"""

from typing import NamedTuple

from msgspec.structs import replace

from cluster.keyring.tokens import TokenRefused, key_named, proved, signed
from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.keyring import signing_key
from cluster.operations.node_identities import NODE_NOT_FOUND, require_proof
from cluster.operations.policy_rights import access_by_policies
from scheduler.access.access import Access, variable_name
from scheduler.access.caller import Caller
from scheduler.ports import IDSource, StateReader
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import JobAcl
from scheduler.structs.allocation import Allocation
from scheduler.structs.task_group import Identity

_ALLOCATION = "nomad_allocation_id"
_TASK = "nomad_task"
#: Where variables of jobs stand.
_VARIABLES = "nomad/jobs"


class Workload(NamedTuple):
    """A running task that showed its identity."""

    alloc_id: str
    name: str
    access: Access


def sign_workload_identity(  # noqa: PLR0913 - what an agent shows, and where it is
    reader: StateReader,
    node_id: str,
    alloc_id: str,
    task: str,
    name: str = "",
    *,
    secret: str,
    region: str,
    by: Caller,
    now: int,
    ids: IDSource,
) -> str:
    """An identity of a task of the node: the one that every task has, or a further one by name.

    That of every task has no end of its own, and is for the cluster; a further one ends and is
    for whom its block says. Raises NotAllowed for another node's, NotFound for one that is not
    there or over.
    """
    node, alloc = reader.node(node_id), reader.allocation(alloc_id)
    if node is None:
        raise NotFound(NODE_NOT_FOUND)
    require_proof(reader, node, secret, by=by, now=now)
    if alloc is None or alloc.is_client_terminal:
        raise NotFound("allocation does not exist, or is over")
    if alloc.node_id != node.id:
        raise NotAllowed(f"allocation {alloc.id} is not on node {node.id}")
    job = reader.job_of(alloc)
    group = job.task_group(alloc.task_group) if job else None
    found = group.task(task) if group else None
    if found is None:
        raise NotFound(f"allocation {alloc.id} has no task {task[:64]!r}")
    further = next((each for each in found.identities if name and each.name == name), None)
    if name and further is None:
        raise NotFound(f"task {task[:64]!r} asks for no identity {name[:64]!r}")
    key = signing_key(reader)
    if key is None:
        raise OperationRefused("keyring has not been initialized yet")
    job_id, which = own_job(reader, alloc), name or "default"
    claims: dict[str, object] = {
        "sub": f"{region}:{alloc.namespace}:{job_id}:{alloc.task_group}:{task}:{which}",
        "nomad_namespace": alloc.namespace,
        "nomad_job_id": job_id,
        _ALLOCATION: alloc.id,
        _TASK: task,
    }
    life = 0
    if further is not None:
        claims |= _audience(further)
        life = further.ttl
    return signed(claims, key, now=now, life=life, token_id=ids.next_id())


def _audience(identity: Identity) -> dict[str, object]:
    """For whom a further identity is: never for the cluster itself, unless its block says so."""
    audience = identity.audience
    return {"aud": audience[0] if len(audience) == 1 else list(audience)}


def workload_of(reader: StateReader, token: str, *, now: int) -> Workload | None:
    """The running task that shows a token; None where it proves none."""
    try:
        key = reader.get(ROOT_KEYS, key_named(token))
        claims = proved(token, key, now=now, has_end=False)
    except TokenRefused:
        return None
    alloc = reader.allocation(str(claims.get(_ALLOCATION, "")))
    task = str(claims.get(_TASK, ""))
    if alloc is None or alloc.is_client_terminal or not task:
        return None
    return Workload(alloc.id, f"{alloc.name}/{task}", workload_access(reader, alloc, task))


def own_job(reader: StateReader, alloc: Allocation) -> str:
    """The job by which its tasks are known: that of a dispatched or launched one is its parent."""
    job = reader.job_of(alloc)
    return job.parent_id if job is not None and job.parent_id else alloc.job_id


def workload_access(reader: StateReader, alloc: Allocation, task: str) -> Access:
    """What a task may do: by policies bound to its job, and read its own variables."""
    job_id = own_job(reader, alloc)
    names = [
        policy.name
        for policy in reader.list_all(ACL_POLICIES)
        if policy.job_acl is not None and _is_for(policy.job_acl, alloc, job_id, task)
    ]
    place = (_VARIABLES, job_id, alloc.task_group, task)
    own = ["/".join(place[:length]) for length in range(1, len(place) + 1)]
    return replace(
        access_by_policies(reader, names),
        own_variables=frozenset(variable_name(alloc.namespace, path) for path in own),
        is_workload=True,
    )


def _is_for(rule: JobAcl, alloc: Allocation, job_id: str, task: str) -> bool:
    return (
        (rule.namespace, rule.job_id) == (alloc.namespace, job_id)
        and rule.group in {"", alloc.task_group}
        and rule.task in {"", task}
    )
