"""Whether jobs and nodes could take tokens of Vault by identities of their own (doors.md 14).

In: jobs with a `vault` block, versions that nodes tell. Out: those that could not. There is no
Vault here, and so no token of one that this server made.
"""

import re
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.request import Call
from cluster.api.respond import Found, read_meta
from cluster.api.stubs import job_stub, node_stub
from cluster.api.watches import watch_table
from cluster.operations.errors import NotFound
from cluster.operations.rights import require_reads
from cluster.store.ports import RecordReader
from scheduler.structs.job import Job
from scheduler.structs.node import Node
from scheduler.structs.task_group import Task

#: The reference's first version whose nodes know identities for Vault.
_FIRST = (1, 7)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


async def vault_identities(call: Call) -> HttpResponse:
    """GET /v1/operator/upgrade-check/vault-workload-identity."""
    require_reads(call.caller, "operator")

    def work(reader: RecordReader) -> Found:
        jobs = [job_stub(reader, job, with_meta=False) for job in reader.jobs() if _lacks_one(job)]
        nodes = [
            node_stub(node, with_resources=False, with_os=False)
            for node in reader.nodes()
            if _is_outdated(node)
        ]
        index = reader.table_index("jobs")
        body: dict[str, Any] = {
            "JobsWithoutVaultIdentity": jobs,
            "OutdatedNodes": nodes,
            "VaultTokens": None,
        }
        return Found(index=index, body=body | read_meta(index))

    return await answer_read(call, work, watch_table("jobs"))


async def no_check(call: Call, name: str) -> HttpResponse:
    """GET of a check that nobody knows."""
    require_reads(call.caller, "operator")
    raise NotFound(f"Path /v1/operator/upgrade-check/{name} not found")


def _lacks_one(job: Job) -> bool:
    """Whether a task of it asks for Vault without saying as whom."""
    return any(
        task.vault is not None and not _has_identity(task, task.vault)
        for group in job.task_groups
        for task in group.tasks
    )


def _has_identity(task: Task, vault: dict[str, object]) -> bool:
    cluster = vault.get("Cluster") or "default"
    return any(each.name == f"vault_{cluster}" for each in task.identities)


def _is_outdated(node: Node) -> bool:
    told = _NUMBERS.match(node.attributes.get("nomad.version", ""))
    return told is not None and (int(told[1]), int(told[2])) < _FIRST
