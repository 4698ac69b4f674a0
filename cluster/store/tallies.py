"""How many there are, without reading them: counts per status straight from the tables.

In: a reader and the namespaces that count (None: all). Out: plain numbers; one statement each.
"""

from collections.abc import Collection, Sequence
from typing import Any

from cluster.store.ports import AllocFace, JobFace, Namespaces, NodeFace
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from cluster.store.timestamps import instant
from scheduler.state import nouns
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobType
from scheduler.structs.node import LOST


def evaluation_tally(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, int]:
    """Evaluations by stored status; `deleted` counts the stubs of collected ones."""
    where, parameters = within(namespaces)
    counts = dict(
        reader.rows(f"SELECT status, COUNT(*) FROM evaluation{where} GROUP BY status", parameters)  # noqa: S608 - names of our own tables only
    )
    stubs = reader.rows(f"SELECT COUNT(*) FROM evaluation_stub{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(status): int(count) for status, count in counts.items()} | {
        "deleted": int(stubs[0][0])
    }


def open_tally(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, int]:
    """Evaluations that have not ended, by status."""
    where, parameters = within(namespaces, "status IN ('pending', 'blocked')")
    found = reader.rows(
        f"SELECT status, COUNT(*) FROM evaluation{where} GROUP BY status",  # noqa: S608 - names of our own tables only
        parameters,
    )
    return {str(status): int(count) for status, count in found}


def job_count(reader: DjangoStateReader, namespaces: Namespaces) -> int:
    """Jobs, dead ones included."""
    where, parameters = within(namespaces)
    return int(reader.rows(f"SELECT COUNT(*) FROM job{where}", parameters)[0][0])  # noqa: S608 - names of our own tables only


def job_keys(reader: DjangoStateReader, namespaces: Namespaces) -> set[JobKey]:
    """The keys of all jobs, undecoded."""
    where, parameters = within(namespaces)
    found = reader.rows(f"SELECT namespace, job_id FROM job{where}", parameters)  # noqa: S608 - names of our own tables only
    return {JobKey(str(namespace), str(job_id)) for namespace, job_id in found}


def blocked_ids(reader: DjangoStateReader, namespaces: Namespaces) -> set[str]:
    """The ids of the evaluations that wait for room, undecoded."""
    where, parameters = within(namespaces, "status = 'blocked'")
    found = reader.rows(f"SELECT id FROM evaluation{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(eval_id) for (eval_id,) in found}


def node_tally(reader: DjangoStateReader) -> dict[str, int]:
    """Nodes in all (`nodes`), those that drain (`draining`) or are lost (`lost`)."""
    found = reader.rows(
        "SELECT is_draining, status, COUNT(*) FROM node GROUP BY is_draining, status", ()
    )
    rows = [(bool(draining), str(status), int(count)) for draining, status, count in found]
    return {
        "nodes": sum(count for _, _, count in rows),
        "draining": sum(count for draining, _, count in rows if draining),
        "lost": sum(count for _, status, count in rows if status in LOST),
    }


def open_statuses(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, str]:
    """The status of each evaluation that has not ended, by its id, undecoded."""
    where, parameters = within(namespaces, "status IN ('pending', 'blocked')")
    found = reader.rows(f"SELECT id, status FROM evaluation{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(eval_id): str(status) for eval_id, status in found}


def newest_steps_of_pending(
    reader: DjangoStateReader, namespaces: Namespaces
) -> dict[str, LifecycleStep]:
    """The newest recorded step of each pending evaluation, by its id."""
    where, parameters = within(namespaces, "status = 'pending'")
    steps = reader.select(
        nouns.LIFECYCLE_STEPS,
        f"eval_id IN (SELECT id FROM evaluation{where})",  # noqa: S608 - names of our own tables only
        parameters,
        "eval_id, number",
    )
    return {step.eval_id: step for step in steps}


def within(
    namespaces: Namespaces, condition: str = "", column: str = "namespace"
) -> tuple[str, tuple[Any, ...]]:
    """A WHERE clause for rows of these namespaces, with its parameters."""
    conditions = [condition] if condition else []
    parameters: tuple[Any, ...] = ()
    if namespaces is not None:
        conditions.append(f"{column} IN ({placeholders(len(namespaces)) or 'NULL'})")
        parameters = tuple(sorted(namespaces))
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), parameters


def node_faces(reader: DjangoStateReader) -> list[NodeFace]:
    """All nodes, undecoded."""
    found = reader.rows(
        "SELECT id, name, status, eligibility, is_draining,"
        " CASE WHEN status = 'ready' THEN NULL ELSE status_changed_at END FROM node",
        (),
    )
    return [
        NodeFace(
            str(node_id), str(name), str(status), str(eligibility), is_draining=bool(draining),
            since=instant(changed_at),
        )
        for node_id, name, status, eligibility, draining, changed_at in found
    ]  # fmt: skip


def job_faces(reader: DjangoStateReader, namespaces: Namespaces) -> list[JobFace]:
    """All jobs, undecoded."""
    where, parameters = within(namespaces)
    found = reader.rows(
        f"SELECT namespace, job_id, type, status, is_stopped, wanted_count FROM job{where}",  # noqa: S608 - names of our own tables only
        parameters,
    )
    return [
        JobFace(
            str(namespace), str(job_id), str(kind), str(status), is_stopped=bool(stopped),
            wanted=int(wanted),
        )
        for namespace, job_id, kind, status, stopped, wanted in found
    ]  # fmt: skip


def live_on(reader: DjangoStateReader, node_ids: Collection[str]) -> list[AllocFace]:
    """What has not ended on these nodes, undecoded."""
    wanted = tuple(sorted(node_ids))
    if not wanted:
        return []
    found = reader.rows(
        "SELECT a.id, a.node_id, a.name, a.namespace, a.job_id, j.type FROM allocation a"  # noqa: S608 - names of our own tables only
        " LEFT JOIN job j ON j.namespace = a.namespace AND j.job_id = a.job_id"
        f" WHERE a.node_id IN ({placeholders(len(wanted))})"
        " AND a.client_status IN ('pending', 'running', 'unknown')",
        wanted,
    )
    return [
        AllocFace(
            str(alloc_id), str(node_id), str(name), JobKey(str(namespace), str(job_id)),
            is_service=kind == JobType.SERVICE,
        )
        for alloc_id, node_id, name, namespace, job_id, kind in found
    ]  # fmt: skip


def restarting_among(
    reader: DjangoStateReader, wanted: Collection[JobKey], at_least: int
) -> list[tuple[str, JobKey]]:
    """Allocations of these jobs that wait to be started once more, undecoded.

    Few were ever restarted, and an index holds those alone.
    """
    if not wanted:
        return []
    # By status SQLite would look at all that start, of which there may be as many as allocations.
    rows = reader.rows(
        "SELECT id, namespace, job_id FROM allocation"
        " WHERE restart_count > 0 AND restart_count >= %s"
        " AND client_status || '' = 'pending' AND desired_status || '' = 'run'",
        (at_least,),
    )
    found = [(str(row[0]), JobKey(str(row[1]), str(row[2]))) for row in rows]
    keys = frozenset(wanted)
    return [each for each in found if each[1] in keys]


def token_names(reader: DjangoStateReader, accessor_ids: Collection[str]) -> dict[str, str]:
    """The names of API tokens, by accessor id."""
    wanted = tuple(sorted(accessor_ids))
    if not wanted:
        return {}
    found = reader.rows(
        f"SELECT accessor_id, name FROM acl_token WHERE accessor_id IN ({placeholders(len(wanted))})",  # noqa: S608, E501 - names of our own tables only
        wanted,
    )
    return {str(accessor_id): str(name) for accessor_id, name in found}


def token_uses(reader: DjangoStateReader) -> dict[str, int]:
    """When API tokens were used last, ns, by accessor id; `store.token_uses` notes it."""
    found = reader.rows("SELECT accessor_id, used_at FROM acl_token_use", ())
    return {str(accessor_id): int(used_at) for accessor_id, used_at in found}


def row_counts(reader: DjangoStateReader, tables: Sequence[str]) -> list[int]:
    """How many rows each of these small tables has, in one statement."""
    counts = ", ".join(f"(SELECT COUNT(*) FROM {table})" for table in tables)  # noqa: S608 - of ours
    return [int(count) for count in reader.rows(f"SELECT {counts}", ())[0]]


def recent_steps(reader: DjangoStateReader, evaluations: int) -> list[LifecycleStep]:
    """The steps of the newest evaluations, each life in its order."""
    return reader.select(
        nouns.LIFECYCLE_STEPS,
        "eval_id IN (SELECT id FROM evaluation ORDER BY create_index DESC, id DESC LIMIT %s)",
        (evaluations,),
        "eval_id, number",
    )
