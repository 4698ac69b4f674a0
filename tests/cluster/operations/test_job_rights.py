"""What a job's content asks of whoever registers or plans it."""

import pytest

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import NotAllowed
from cluster.operations.job_plan import plan_job
from cluster.operations.jobs import JobRegistration, register_job
from scheduler.state.memory_store import MemoryStateStore
from tests.builders import SOME_MOMENT, CountingIDs
from tests.callers import MANAGER, caller_with

WRITE = 'namespace "default" { policy = "write" }'
PRIVILEGED = 'namespace "default" { capabilities = ["submit-privileged-job"] }'
RAW_EXEC = {"Name": "shell", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}
MOCK = {"Name": "main", "Driver": "mock_driver"}


def job_of(*tasks, **group):
    groups = [{"Name": "web", "Tasks": list(tasks), **group}]
    return parse_job({"ID": "web", "Type": "batch", "TaskGroups": groups})


def volume(kind, **fields):
    return {"Volumes": {"data": {"Name": "data", "Type": kind, "Source": "disk", **fields}}}


def register(store, job, by):
    request = JobRegistration(job=job)
    return register_job(store, request, by=by, now=SOME_MOMENT, ids=CountingIDs())


def plan(store, job, by):
    snapshot = store.snapshot()
    return plan_job(snapshot, job, by=by, now=SOME_MOMENT, ids=CountingIDs())


@pytest.fixture
def record():
    return MemoryStateStore()


@pytest.mark.parametrize("ask", [register, plan])
def test_tasks_without_isolation_are_refused_to_whoever_may_only_submit(record, ask):
    before = record.index

    with pytest.raises(NotAllowed) as refused:
        ask(record, job_of(MOCK, RAW_EXEC), caller_with(WRITE))

    assert str(refused.value) == (
        "Permission denied: task web/shell wants the driver raw_exec, which runs without"
        " isolation. That asks for submit-privileged-job in namespace default; ask an"
        " administrator for a policy that grants it."
    )
    assert refused.value.missing == "submit-privileged-job in namespace default"
    assert record.index == before


@pytest.mark.parametrize("ask", [register, plan])
@pytest.mark.parametrize(
    "by",
    [
        pytest.param(MANAGER, id="a-manager"),
        pytest.param(caller_with(WRITE, PRIVILEGED), id="one-with-the-capability"),
    ],
)
def test_tasks_without_isolation_are_taken_from(record, ask, by):
    assert ask(record, job_of(RAW_EXEC), by) is not None


def test_the_capability_alone_submits_nothing(record):
    with pytest.raises(NotAllowed) as refused:
        register(record, job_of(RAW_EXEC), caller_with(PRIVILEGED))
    assert refused.value.missing == "submit-job or register-job in namespace default"


def test_an_administrator_names_the_drivers_without_isolation(record, settings):
    settings.BIVOUAC_PRIVILEGED_DRIVERS = ("mock_driver", "docker")

    with pytest.raises(NotAllowed, match="driver mock_driver"):
        register(record, job_of(MOCK), caller_with(WRITE))
    assert register(record, job_of(RAW_EXEC), caller_with(WRITE)).eval_id


@pytest.mark.parametrize(
    ("group", "missing"),
    [
        pytest.param(volume("host"), "mount-readwrite on host volume disk", id="host"),
        pytest.param(
            volume("host", ReadOnly=True),
            "mount-readwrite or mount-readonly on host volume disk",
            id="host-to-read",
        ),
        pytest.param(volume("csi"), "plugin:read", id="csi"),
    ],
)
def test_volumes_ask_for_the_right_to_mount_them(record, group, missing):
    with pytest.raises(NotAllowed) as refused:
        register(record, job_of(MOCK, **group), caller_with(WRITE))
    assert refused.value.missing == missing


@pytest.mark.parametrize(
    ("level", "read_only", "is_taken"),
    [("read", True, True), ("read", False, False), ("write", False, True)],
)
def test_host_volumes_are_mounted_as_the_policy_says(record, level, read_only, is_taken):
    by = caller_with(WRITE, f'host_volume "di*" {{ policy = "{level}" }}')
    job = job_of(MOCK, **volume("host", ReadOnly=read_only))

    if is_taken:
        assert register(record, job, by).eval_id
    else:
        with pytest.raises(NotAllowed):
            register(record, job, by)


@pytest.mark.parametrize(
    ("policy", "is_taken"),
    [
        ('namespace "default" { capabilities = ["register-job"] }', True),
        ('namespace "default" { capabilities = ["plan-job"] }', False),
        ('namespace "default" { policy = "read" }', False),
        ('namespace "other" { policy = "write" }', False),
        ('namespace "*" { policy = "write" }\nnamespace "default" { policy = "deny" }', False),
    ],
)
def test_registering_asks_for_the_right_in_the_namespace_of_the_job(record, policy, is_taken):
    job = job_of(MOCK)
    if is_taken:
        assert register(record, job, caller_with(policy)).eval_id
    else:
        with pytest.raises(NotAllowed, match=r"^Permission denied$"):
            register(record, job, caller_with(policy))
