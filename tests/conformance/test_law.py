"""No write leads past the law of statuses: an illegal change raises and leaves nothing behind."""

import pytest
from msgspec.structs import replace

from scheduler.errors import IllegalTransition
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeStatus
from tests.builders import make_allocation, make_evaluation, make_node

KIND = WriteKind.EVALUATION_UPDATED
EVAL = make_evaluation(1)
ALLOC = make_allocation()
DEPLOYMENT = Deployment(id="d", job_id="web")
NODE = make_node(2)

#: Noun, how it stands, what it may not become, and what the error says.
BROKEN = [
    pytest.param(
        "evaluation",
        replace(EVAL, status=EvalStatus.FAILED),
        {"status": EvalStatus.COMPLETE},
        f"evaluation {EVAL.id} is failed and may not become complete",
        id="evaluation",
    ),
    pytest.param(
        "allocation",
        replace(ALLOC, client_status=ClientStatus.COMPLETE),
        {"client_status": ClientStatus.RUNNING},
        f"allocation {ALLOC.id} is complete and may not become running",
        id="client-status",
    ),
    pytest.param(
        "allocation",
        replace(ALLOC, desired_status=DesiredStatus.STOP),
        {"desired_status": DesiredStatus.RUN},
        f"allocation {ALLOC.id} is stop and may not become run",
        id="desired-status",
    ),
    pytest.param(
        "deployment",
        replace(DEPLOYMENT, status=DeploymentStatus.SUCCESSFUL),
        {"status": DeploymentStatus.RUNNING},
        "deployment d is successful and may not become running",
        id="deployment",
    ),
    pytest.param(
        "node",
        replace(NODE, status=NodeStatus.DISCONNECTED),
        {"status": NodeStatus.READY},
        f"node {NODE.id} is disconnected and may not become ready",
        id="node",
    ),
]
BORN_WRONG = [
    pytest.param("evaluation", replace(EVAL, status=EvalStatus.COMPLETE), id="evaluation"),
    pytest.param("allocation", replace(ALLOC, client_status=ClientStatus.LOST), id="client"),
    pytest.param("allocation", replace(ALLOC, desired_status=DesiredStatus.STOP), id="desired"),
    pytest.param("deployment", replace(DEPLOYMENT, status=DeploymentStatus.PAUSED), id="paused"),
    pytest.param("node", replace(NODE, status=NodeStatus.DOWN), id="node"),
]


def refuse(store, rows, noun, error):
    """Put the rows after another one in one write: all of it must leave no trace."""
    before = store.index

    def work(change):
        change.put_node(make_node(9))
        for row in rows:
            getattr(change, f"put_{noun}")(row)

    with pytest.raises(IllegalTransition, match=error):
        store.write(KIND, work, now=2)
    assert store.index == before
    assert store.frames_since(before) == []
    assert store.read(lambda reader: reader.node(make_node(9).id)) is None


@pytest.mark.parametrize(("noun", "stands", "wrong", "error"), BROKEN)
def test_an_illegal_change_raises_and_changes_nothing(store, noun, stands, wrong, error):
    store.write(KIND, lambda change: put_found(change, stands), now=1)
    refuse(store, [replace(stands, **wrong)], noun, error)
    assert store.read(lambda reader: getattr(reader, noun)(stands.id)) == stands


@pytest.mark.parametrize(("noun", "stands", "wrong", "error"), BROKEN)
def test_what_the_same_write_has_put_counts_as_before(store, noun, stands, wrong, error):
    store.write(KIND, lambda change: put_found(change, replace(stands, **wrong)), now=1)
    refuse(store, [stands, replace(stands, **wrong)], noun, error)


@pytest.mark.parametrize(("noun", "row"), BORN_WRONG)
def test_a_row_begins_where_rows_begin(store, noun, row):
    refuse(store, [row], noun, "may not begin as")
    assert store.read(lambda reader: getattr(reader, noun)(row.id)) is None
