"""How many there are, without reading them: counts per status straight from the tables.

In: a reader and the namespaces that count (None: all). Out: plain numbers; one statement each.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

from cluster.store import codec
from cluster.store.reader import DjangoStateReader
from cluster.store.statements import placeholders
from scheduler.structs.evaluation import LifecycleStep
from scheduler.structs.identity import JobKey

Namespaces = Collection[str] | None


def evaluation_tally(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, int]:
    """Evaluations by stored status; `deleted` counts the stubs of collected ones."""
    where, parameters = _within(namespaces)
    counts = dict(
        reader.rows(f"SELECT status, COUNT(*) FROM evaluation{where} GROUP BY status", parameters)  # noqa: S608 - names of our own tables only
    )
    stubs = reader.rows(f"SELECT COUNT(*) FROM evaluation_stub{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(status): int(count) for status, count in counts.items()} | {
        "deleted": int(stubs[0][0])
    }


def open_tally(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, int]:
    """Evaluations that have not ended, by status."""
    where, parameters = _within(namespaces, "status IN ('pending', 'blocked')")
    found = reader.rows(
        f"SELECT status, COUNT(*) FROM evaluation{where} GROUP BY status",  # noqa: S608 - names of our own tables only
        parameters,
    )
    return {str(status): int(count) for status, count in found}


def job_count(reader: DjangoStateReader, namespaces: Namespaces) -> int:
    """Jobs, dead ones included."""
    where, parameters = _within(namespaces)
    return int(reader.rows(f"SELECT COUNT(*) FROM job{where}", parameters)[0][0])  # noqa: S608 - names of our own tables only


def job_keys(reader: DjangoStateReader, namespaces: Namespaces) -> set[JobKey]:
    """The keys of all jobs, undecoded."""
    where, parameters = _within(namespaces)
    found = reader.rows(f"SELECT namespace, job_id FROM job{where}", parameters)  # noqa: S608 - names of our own tables only
    return {JobKey(str(namespace), str(job_id)) for namespace, job_id in found}


def blocked_ids(reader: DjangoStateReader, namespaces: Namespaces) -> set[str]:
    """The ids of the evaluations that wait for room, undecoded."""
    where, parameters = _within(namespaces, "status = 'blocked'")
    found = reader.rows(f"SELECT id FROM evaluation{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(eval_id) for (eval_id,) in found}


def node_tally(reader: DjangoStateReader) -> dict[str, int]:
    """Nodes in all (`nodes`), and those that drain (`draining`)."""
    found = reader.rows("SELECT is_draining, COUNT(*) FROM node GROUP BY is_draining", ())
    by_drain = {bool(draining): int(count) for draining, count in found}
    return {"nodes": sum(by_drain.values()), "draining": by_drain.get(True, 0)}


def open_statuses(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, str]:
    """The status of each evaluation that has not ended, by its id, undecoded."""
    where, parameters = _within(namespaces, "status IN ('pending', 'blocked')")
    found = reader.rows(f"SELECT id, status FROM evaluation{where}", parameters)  # noqa: S608 - names of our own tables only
    return {str(eval_id): str(status) for eval_id, status in found}


def newest_steps_of_pending(
    reader: DjangoStateReader, namespaces: Namespaces = None
) -> dict[str, LifecycleStep]:
    """The newest recorded step of each pending evaluation, by its id."""
    where, parameters = _within(namespaces, "status = 'pending'")
    steps = reader.select(
        codec.LIFECYCLE,
        f"eval_id IN (SELECT id FROM evaluation{where})",  # noqa: S608 - names of our own tables only
        parameters,
        "eval_id, number",
    )
    return {step.eval_id: step for step in steps}


def _within(namespaces: Namespaces, condition: str = "") -> tuple[str, tuple[Any, ...]]:
    """A WHERE clause for rows of these namespaces, with its parameters."""
    conditions = [condition] if condition else []
    parameters: tuple[Any, ...] = ()
    if namespaces is not None:
        conditions.append(f"namespace IN ({placeholders(len(namespaces)) or 'NULL'})")
        parameters = tuple(sorted(namespaces))
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), parameters


class NodeFace(NamedTuple):
    """What a list of many nodes needs of one."""

    id: str
    name: str
    status: str
    eligibility: str
    is_draining: bool


def node_faces(reader: DjangoStateReader) -> list[NodeFace]:
    """All nodes, undecoded."""
    found = reader.rows("SELECT id, name, status, eligibility, is_draining FROM node", ())
    return [
        NodeFace(
            str(node_id), str(name), str(status), str(eligibility), is_draining=bool(draining)
        )
        for node_id, name, status, eligibility, draining in found
    ]


def recent_steps(reader: DjangoStateReader, evaluations: int) -> list[LifecycleStep]:
    """The steps of the newest evaluations, each life in its order."""
    return reader.select(
        codec.LIFECYCLE,
        "eval_id IN (SELECT id FROM evaluation ORDER BY create_index DESC, id DESC LIMIT %s)",
        (evaluations,),
        "eval_id, number",
    )
