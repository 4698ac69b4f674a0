"""The short forms of lists, and the forms that join two rows (http-api.md 5).

In: structs, and a reader where a form embeds another row. Out: plain objects for JSON.
"""

from typing import Any

import msgspec

from cluster.api.encode import (
    Plain,
    chosen_form,
    complete_form,
    to_plain,
    with_additions,
    writer_of,
)
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.state.nouns import JOB_SUMMARIES
from scheduler.structs.allocation import Allocation, DesiredTransition
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job, JobSummary
from scheduler.structs.node import Node
from scheduler.structs.resources import AllocatedTaskResources

_NOTHING_WANTED = DesiredTransition()
EVAL_STUB = (
    "ID", "Namespace", "Priority", "Type", "TriggeredBy", "JobID", "NodeID", "DeploymentID",
    "Status", "StatusDescription", "WaitUntil", "NextEval", "PreviousEval", "BlockedEval",
    "CreateIndex", "ModifyIndex", "CreateTime", "ModifyTime",
)  # fmt: skip
ALLOC_STUB = frozenset({
    "id", "eval_id", "name", "namespace", "node_id", "node_name", "job_id", "task_group",
    "desired_description", "client_description", "desired_transition", "deployment_status",
    "followup_eval_id", "next_allocation", "reschedule_tracker", "preempted_allocations",
    "preempted_by_allocation", "create_index", "modify_index", "create_time", "modify_time",
    "desired_status", "client_status",
})  # fmt: skip
NODE_STUB = (
    "ID", "Datacenter", "Name", "NodePool", "NodeClass", "Drain", "SchedulingEligibility",
    "Status", "StatusDescription", "Drivers", "HostVolumes", "LastDrain", "CreateIndex",
    "ModifyIndex",
)  # fmt: skip
JOB_STUB = (
    "ID", "ParentID", "Name", "Namespace", "Datacenters", "NodePool", "Multiregion", "Type",
    "Priority", "Stop", "Status", "StatusDescription", "CreateIndex", "ModifyIndex",
    "JobModifyIndex", "SubmitTime",
)  # fmt: skip


def job_stub(reader: StateReader, job: Job, *, with_meta: bool) -> dict[str, Plain]:
    """A job in a list, with its summary."""
    plain = to_plain(msgspec.structs.replace(job, task_groups=()))
    stub = {name: plain[name] for name in JOB_STUB}
    stub["Periodic"] = job.is_periodic
    stub["ParameterizedJob"] = job.is_parameterized
    stub["JobSummary"] = summary_form(reader, job)
    if with_meta and job.meta:
        stub["Meta"] = dict(job.meta)
    return stub


def summary_form(reader: StateReader, job: Job) -> dict[str, Plain]:
    """The counts beside a job; zeroes when none were kept yet."""
    summary = reader.get(JOB_SUMMARIES, job.key) or JobSummary(
        job_id=job.id,
        namespace=job.namespace,
        create_index=job.create_index,
        modify_index=job.modify_index,
    )
    form = to_plain(summary)
    form["Summary"] = form["Summary"] or {}
    return form


def evaluation_form(
    evaluation: Evaluation, caller: Caller, *, additions: bool
) -> dict[str, Plain]:
    """A whole evaluation; what was decided beside it is told to those who see every namespace."""
    if not additions:
        return to_plain(evaluation)
    if evaluation.counted_evals and not caller.access.allows_everywhere("read-job"):
        evaluation = evaluation.changed(counted_evals=())
    return with_additions(evaluation)


def deployment_form(deployment: Deployment, *, additions: bool) -> dict[str, Plain]:
    """A whole deployment."""
    return with_additions(deployment) if additions else to_plain(deployment)


def evaluation_stub(evaluation: Evaluation) -> dict[str, Plain]:
    """An evaluation among its relatives."""
    plain = complete_form(evaluation)
    return {name: plain[name] for name in EVAL_STUB}


def allocation_stub(
    alloc: Allocation, *, with_resources: bool = False, with_states: bool = True
) -> dict[str, Plain]:
    """An allocation in a list."""
    fields = ALLOC_STUB | {"task_states"} if with_states else ALLOC_STUB
    stub = chosen_form(alloc, fields | {"allocated_resources"} if with_resources else fields)
    stub["JobType"] = alloc.job_type
    stub["JobVersion"] = alloc.job_version
    stub.setdefault("TaskStates", None)
    return stub


def node_stub(node: Node, *, with_resources: bool, with_os: bool) -> dict[str, Plain]:
    """A node in a list."""
    plain = to_plain(node)
    stub = {name: plain[name] for name in NODE_STUB}
    address = node.http_addr.rpartition(":")[0] or node.http_addr
    # Nobody calls an agent here; where its tasks listen is what its address is good for.
    stub["Address"] = address or node.attributes.get("unique.network.ip-address", "")
    stub["Version"] = node.attributes.get("nomad.version", "")
    if with_os:
        names = {key: value for key, value in node.attributes.items() if key == "os.name"}
        stub["Attributes"] = names
    if with_resources:
        stub["NodeResources"] = plain["NodeResources"]
        stub["ReservedResources"] = plain["ReservedResources"]
    return stub


def allocation_form(reader: StateReader, alloc: Allocation) -> dict[str, Plain]:
    """An allocation with its job, and with the older resource fields that clients still read."""
    job = reader.job_of(alloc)
    return allocation_without_job(alloc) | {"Job": None if job is None else to_plain(job)}


def allocation_without_job(alloc: Allocation) -> dict[str, Plain]:
    """An allocation as events carry it."""
    tasks = {
        name: _old_resources(granted) for name, granted in alloc.allocated_resources.tasks.items()
    }
    shared = alloc.allocated_resources.shared
    networks = [writer_of(type(network))(network) for network in shared.networks] or None
    form = to_plain(alloc)
    if alloc.desired_transition == _NOTHING_WANTED:
        # The reference leaves it out; stubs always have it.
        del form["DesiredTransition"]
    form["TaskResources"] = tasks
    form["SharedResources"] = _no_resources() | {"DiskMB": shared.disk_mb, "Networks": networks}
    form["Resources"] = _no_resources() | {
        "CPU": sum(task["CPU"] for task in tasks.values()),
        "Cores": sum(task["Cores"] for task in tasks.values()),
        "MemoryMB": sum(task["MemoryMB"] for task in tasks.values()),
        "MemoryMaxMB": sum(task["MemoryMaxMB"] for task in tasks.values()),
        "DiskMB": shared.disk_mb,
        "Networks": networks,
    }
    return form


def _old_resources(granted: AllocatedTaskResources) -> dict[str, Any]:
    networks = [writer_of(type(network))(network) for network in granted.networks] or None
    return _no_resources() | {
        "CPU": granted.cpu.cpu_shares,
        "Cores": len(granted.cpu.reserved_cores),
        "MemoryMB": granted.memory.memory_mb,
        "MemoryMaxMB": granted.memory.memory_max_mb,
        "Networks": networks,
    }


def _no_resources() -> dict[str, Any]:
    return {
        "CPU": 0,
        "Cores": 0,
        "MemoryMB": 0,
        "MemoryMaxMB": 0,
        "DiskMB": 0,
        "IOPS": 0,
        "Networks": None,
        "Devices": None,
        "NUMA": None,
        "SecretsMB": 0,
    }
