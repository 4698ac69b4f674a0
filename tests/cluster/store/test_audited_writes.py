"""A write that somebody asked for and its row of the audit are there together, or neither is."""

import pytest

from cluster.operations.deployments import pause_deployment
from cluster.operations.errors import NotAllowed
from cluster.operations.jobs import JobRegistration, deregister_job, evaluate_job, register_job
from cluster.operations.nodes import (
    DrainRequest,
    drain_node,
    purge_node,
    register_node,
    set_node_eligibility,
    update_status,
)
from cluster.operations.periodic import force_launch, launch_due
from cluster.operations.scaling import ScalingRequest, scale_job
from cluster.store import writer
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.audited_acts import _TOLD, OF_THE_CLUSTER, act_of
from scheduler.access.access import MANAGEMENT
from scheduler.access.caller import ANONYMOUS, CLUSTER, Caller, CallerKind
from scheduler.state.events import EventFrame, StateEvent, WriteKind
from scheduler.state.nouns import NOUNS, SCHEDULER_SETTINGS
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.writes.jobs import write_job
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Periodic
from scheduler.structs.node import DrainStrategy, NodeStatus
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import SOME_MOMENT, CountingIDs, make_job, make_node

KIM = Caller(kind=CallerKind.PERSON, id="7", name="kim", address="10.1.7.22", access=MANAGEMENT)
BOT = Caller(kind=CallerKind.TOKEN, id="91d0e2aa", name="ci", access=MANAGEMENT)
AGENT = Caller(kind=CallerKind.AGENT, id="n1", name="n1", address="10.3.118.7")


@pytest.fixture
def ids():
    return CountingIDs(prefix="a")


@pytest.fixture
def at(ids):
    """What every operation takes."""
    return {"now": SOME_MOMENT, "ids": ids}


def told(record, *parts):
    rows = read_audit(record, AuditFilter(), limit=100).rows[::-1]
    return [tuple(getattr(row, part) for part in parts) for row in rows]


def test_a_registration_is_told_with_who_from_where_and_its_index(record, at):
    written = register_job(record, JobRegistration(job=make_job()), by=KIM, **at)
    parts = ("who_kind", "who_id", "who_name", "address", "door", "act", "target_kind",
             "target_id", "namespace", "result", "reason", "made_index", "at")  # fmt: skip
    assert told(record, *parts) == [
        ("person", "7", "kim", "10.1.7.22", "page", "register job", "job", "web", "default",
         "done", "version 0", written.index, SOME_MOMENT)
    ]  # fmt: skip


def test_a_job_that_is_registered_as_it_was_is_told_by_its_name(record, at):
    for _ in range(2):
        register_job(record, JobRegistration(job=make_job()), by=KIM, **at)
    assert told(record, "act", "target_kind", "target_id", "reason") == [
        ("register job", "job", "web", "version 0"),
        ("register job", "job", "web", "as it was"),
    ]


def test_each_act_has_its_own_words(record, at):
    register_job(record, JobRegistration(job=make_job()), by=KIM, **at)
    evaluate_job(record, make_job().key, by=KIM, **at)
    deregister_job(record, make_job().key, by=BOT, **at)
    deregister_job(record, make_job().key, purge=True, by=BOT, **at)
    node = make_node()
    register_node(record, node, by=AGENT, secret="s" * 36, may_join=True, **at)
    set_node_eligibility(record, node.id, "ineligible", by=KIM, **at)
    set_node_eligibility(record, node.id, "eligible", by=KIM, **at)
    drain_node(record, node.id, DrainRequest(strategy=DrainStrategy(deadline=1)), by=KIM, **at)
    drain_node(record, node.id, DrainRequest(), by=KIM, **at)
    purge_node(record, node.id, by=KIM, **at)
    assert [act for (act,) in told(record, "act")] == [
        "register job", "evaluate job", "stop job", "purge job", "join", "close node",
        "open node", "drain node", "cancel drain", "purge node",
    ]  # fmt: skip
    assert {name for (name,) in told(record, "who_name")} == {"kim", "ci", "n1"}


def test_scaling_is_told_with_its_group_and_counts(record, at):
    register_job(record, JobRegistration(job=make_job()), by=KIM, **at)
    key = make_job().key
    scale_job(record, key, ScalingRequest(task_group="web", count=3), by=BOT, **at)
    scale_job(record, key, ScalingRequest(task_group="web", message="no room"), by=BOT, **at)
    assert told(record, "act", "target_kind", "target_id", "reason")[1:] == [
        ("scale job", "job", "web", "group web from 1 to 3"),
        ("note scaling", "job", "web", "group web"),
    ]


def test_a_launch_by_hand_is_told_with_its_child_and_one_by_time_is_not(record, at):
    job = make_job(type="batch", periodic=Periodic(specs=("* * * * *",)))
    record.write(WriteKind.JOB_REGISTERED, lambda change: write_job(change, job), now=1)
    assert launch_due(record, job.key, by=CLUSTER, **at).child_id
    name = force_launch(record, job.key, by=KIM, **at).child_id
    assert told(record, "act", "target_kind", "target_id", "reason") == [
        ("launch job", "job", "web", f"as {name}")
    ]


def test_a_deployment_is_told_with_its_job(record, at):
    deployment = Deployment(id="d1", job_id="web", job_version=3, create_time=1)
    record.write(WriteKind.PLAN_RESULT, lambda change: change.put_deployment(deployment), now=1)
    for pause in (True, False):
        pause_deployment(record, "d1", pause=pause, by=KIM, **at)
    assert told(record, "act", "target_id", "reason") == [
        ("pause deployment", "d1", "of job web, version 3"),
        ("resume deployment", "d1", "of job web, version 3"),
    ]


def test_a_rehearsal_is_told_as_asked_for_and_as_canceled(record, at):
    asked = StoredRehearsal(id="r1", asked_at=1)
    canceled = StoredRehearsal(id="r1", asked_at=1, status=RehearsalStatus.CANCELED)
    for row in (asked, canceled):
        kind = REHEARSALS.upserted
        record.write(kind, lambda change, row=row: change.put(REHEARSALS, row), now=1, by=KIM)
    assert told(record, "act", "target_kind", "target_id") == [
        ("rehearse", "rehearsal", "r1"),
        ("cancel rehearsal", "rehearsal", "r1"),
    ]


def test_what_the_cluster_does_by_itself_is_not_told(record):
    for kind in (WriteKind.JOB_REGISTERED, WriteKind.NODE_DRAIN, WriteKind.COLLECTED):
        record.write(kind, lambda change: change.put_job(make_job()), now=1, by=CLUSTER)
    assert told(record, "act") == []


def test_of_agents_only_the_joining_of_a_node_is_told(record, at):
    node = make_node()
    for _ in range(2):
        register_node(record, node, by=AGENT, secret="s" * 36, may_join=True, **at)
    update_status(record, node.id, NodeStatus.READY, by=AGENT, secret="s" * 36, **at)
    assert told(record, "door", "act", "target_id", "reason") == [
        ("agent", "join", node.id, f"as {node.name}")
    ]


def test_a_write_that_is_rolled_back_leaves_no_row(record, at, monkeypatch):
    stranger = Caller(kind=CallerKind.TOKEN, id="x", name="x")
    with pytest.raises(NotAllowed):
        register_job(record, JobRegistration(job=make_job()), by=stranger, **at)

    def fail(*_given):
        raise RuntimeError("the rows are written, the audit is not")

    before = record.index
    with monkeypatch.context() as patched:
        patched.setattr(writer, "_write_audit", fail)
        with pytest.raises(RuntimeError):
            register_job(record, JobRegistration(job=make_job()), by=KIM, **at)
    assert told(record, "act") == []
    assert record.index == before
    assert record.read(lambda reader: reader.job(make_job().key)) is None


def test_a_write_that_puts_nothing_is_no_act(record):
    record.write(WriteKind.JOB_REGISTERED, lambda change: None, now=1, by=KIM)
    assert told(record, "act") == []


def test_a_caller_by_the_admin_says_so_and_one_without_a_token_is_nobody(record):
    for by in (
        Caller(kind=CallerKind.PERSON, name="kim", door="admin"),
        ANONYMOUS,
        Caller(kind=CallerKind.COMMAND, name="root"),
    ):
        record.write(
            SCHEDULER_SETTINGS.upserted,
            lambda change: change.put(SCHEDULER_SETTINGS, SchedulerSettings()),
            now=1,
            by=by,
        )
    assert told(record, "who_kind", "who_name", "door") == [
        ("person", "kim", "admin"),
        ("nobody", "", "api"),
        ("command", "root", "command"),
    ]


def test_every_kind_of_write_has_words_or_is_the_cluster_s_own():
    known = set(_TOLD) | OF_THE_CLUSTER
    assert set(WriteKind) - known == set()


def test_what_is_found_by_an_id_is_told_with_its_name():
    class Named(SchedulerSettings):
        name: str = "ci"

    told = []
    for key in ("91d0e2aa", "ci"):
        event = StateEvent(topic=SCHEDULER_SETTINGS.topic, key=key, value=Named())
        frame = EventFrame(index=1, kind=SCHEDULER_SETTINGS.upserted, at=1, events=(event,))
        told.append(act_of(frame).detail)
    assert told == ["ci", ""]


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if noun.topic], ids=lambda n: n.table)
def test_every_noun_has_words_for_being_written_and_deleted(noun):
    event = StateEvent(topic=noun.topic, key="some", value=SchedulerSettings())
    for kind, verb in ((noun.upserted, "write"), (noun.deleted, "delete")):
        if kind in OF_THE_CLUSTER:
            continue
        act = act_of(EventFrame(index=1, kind=kind, at=1, events=(event,)))
        assert act.words == f"{verb} {noun.table.replace('_', ' ')}"
        assert act.target_id == "some"
