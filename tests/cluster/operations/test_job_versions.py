"""Reverting, calling stable, tagging and comparing versions, on the store in memory."""

import pytest
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.admission import JobMovedOn, JobRefused
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.job_versions import (
    AlreadyCurrent,
    TagNotFound,
    TagTaken,
    VersionNotFound,
    VersionTagged,
    mark_job_stable,
    revert_job,
    tag_version,
    tagged_among,
    untag_version,
    version_among,
)
from cluster.operations.jobs import (
    REGISTRATION_DISABLED,
    JobRegistration,
    JobWritten,
    deregister_job,
    register_job,
)
from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUBMISSIONS, NODE_POOLS
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSubmission, VersionTag
from scheduler.structs.node import NodePool
from scheduler.structs.scheduler_settings import SchedulerSettings
from tests.builders import CountingIDs, make_allocation
from tests.callers import MANAGER, caller_with

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
NOT_FOUND = 'job "web" in namespace "default" at version {} not found'


def document(**fields):
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 2, "Tasks": [task]}
    return {"ID": "web", "Type": "service", "TaskGroups": [group], **fields}


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, submission=None, **fields):
    request = JobRegistration(job=parse_job(document(**fields)), submission=submission)
    return register_job(store, request, by=MANAGER, now=NOW, ids=ids)


def revert(store, ids, version, by=MANAGER, **options):
    return revert_job(store, KEY, version, by=by, now=NOW + 1, ids=ids, **options)


def tag(store, name, by=MANAGER, **options):
    return tag_version(store, KEY, name, by=by, now=NOW + 2, **options)


def untag(store, name, by=MANAGER):
    return untag_version(store, KEY, name, by=by, now=NOW + 3)


def mark(store, version, *, stable=True, by=MANAGER):
    return mark_job_stable(store, KEY, version, stable=stable, by=by, now=NOW + 4)


def versions(store):
    return [job.version for job in store.job_versions(KEY)]


def tags(store):
    return {
        job.version: job.version_tag.name for job in store.job_versions(KEY) if job.version_tag
    }


def test_j10_going_back_registers_the_old_version_as_a_new_one(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    mark(store, 0)
    tag(store, "good", version=0)
    before = store.index

    written = revert(store, ids, 0)

    job = store.job(KEY)
    assert written == JobWritten(
        index=before + 1,
        eval_id=written.eval_id,
        eval_create_index=before + 1,
        job_modify_index=before + 1,
    )
    assert (job.version, job.priority, job.stable, job.version_tag) == (2, 10, False, None)
    assert job.submit_time == NOW + 1
    assert versions(store) == [2, 1, 0]
    assert tags(store) == {0: "good"}
    evaluation = store.evaluation(written.eval_id)
    assert (evaluation.triggered_by, evaluation.type, evaluation.priority) == (
        "job-register",
        "service",
        10,
    )
    assert evaluation.cause.text == "version 2 registered"
    assert [frame.kind for frame in store.frames_since(before)] == [WriteKind.JOB_REVERTED]


@pytest.mark.parametrize(
    ("version", "options", "error", "text"),
    [
        pytest.param(1, {}, AlreadyCurrent, "can't revert to current version", id="J10 current"),
        pytest.param(9, {}, VersionNotFound, NOT_FOUND.format(9), id="unknown version"),
        pytest.param(
            0,
            {"enforce_prior_version": 0},
            JobMovedOn,
            "Current job has version 1; enforcing version 0",
            id="J10 wrong prior version",
        ),
        pytest.param(2**70, {}, VersionNotFound, NOT_FOUND.format(2**70), id="no such number"),
    ],
)
def test_where_one_cannot_go_back_to(store, ids, version, options, error, text):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    before = store.index

    with pytest.raises(error) as refused:
        revert(store, ids, version, **options)

    assert (str(refused.value), refused.value.status) == (text, 400)
    assert store.index == before


def test_an_unknown_job_cannot_go_back(store, ids):
    with pytest.raises(VersionNotFound, match='job "web" not found'):
        revert(store, ids, 0)
    register(store, ids)
    register(store, ids, Priority=7)
    deregister_job(store, KEY, purge=True, by=MANAGER, now=NOW, ids=ids)
    with pytest.raises(VersionNotFound, match='job "web" not found'):
        revert(store, ids, 0)


def test_the_right_prior_version_passes(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    assert revert(store, ids, 0, enforce_prior_version=1).eval_id
    assert versions(store) == [2, 1, 0]


def test_going_back_to_what_is_wanted_already_only_evaluates(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    revert(store, ids, 0)
    stored = store.job(KEY)

    written = revert(store, ids, 0)

    assert store.job(KEY) == stored
    assert versions(store) == [2, 1, 0]
    assert written.job_modify_index == stored.modify_index
    assert written.eval_create_index == written.index == stored.modify_index + 1


def test_a_stopped_job_runs_again_by_going_back(store, ids):
    register(store, ids)
    deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    revert(store, ids, 0)
    job = store.job(KEY)
    assert (job.version, job.stop, job.status) == (2, False, "pending")


def test_the_text_of_the_version_comes_back_with_it(store, ids):
    source = JobSubmission(source='job "web" {}', format="hcl2")
    register(store, ids, submission=source, Priority=10)
    register(store, ids, Priority=20)
    written = revert(store, ids, 0)
    kept = store.get(JOB_SUBMISSIONS, (KEY, 2))
    assert kept == replace(
        source,
        namespace="default",
        job_id="web",
        version=2,
        job_modify_index=written.job_modify_index,
    )


def test_an_old_version_must_still_be_admitted(store, ids):
    pool = NodePool(name="gone")
    store.write("made", lambda change: change.put(NODE_POOLS, pool), now=NOW)
    register(store, ids, NodePool="gone")
    register(store, ids, Priority=20)
    store.write("gone", lambda change: change.delete(NODE_POOLS, "gone"), now=NOW)
    before = store.index
    with pytest.raises(JobRefused, match='nonexistent node pool "gone"'):
        revert(store, ids, 0)
    assert store.index == before


def test_a_version_that_was_taken_off_the_list_cannot_be_had(store, ids):
    register(store, ids, Priority=1)
    first = store.job(KEY)
    alloc = make_allocation(first)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, alloc), now=NOW)
    for priority in range(2, 9):
        register(store, ids, Priority=priority)
    assert store.job_version(KEY, 0, first.create_index) is not None
    for act in (
        lambda: revert(store, ids, 0),
        lambda: mark(store, 0),
        lambda: tag(store, "old", version=0),
    ):
        with pytest.raises(VersionNotFound):
            act()
    assert versions(store) == [7, 6, 5, 4, 3, 2]


def test_going_back_asks_for_what_registering_it_asks_for(store, ids):
    task = {"Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}
    register(store, ids, TaskGroups=[{"Name": "group", "Tasks": [task]}])
    register(store, ids)
    reverts = caller_with('namespace "*" { capabilities = ["revert-job"] }')
    with pytest.raises(NotAllowed) as refused:
        revert(store, ids, 0, by=reverts)
    assert refused.value.missing == "submit-privileged-job in namespace default"

    with pytest.raises(NotAllowed) as refused:
        revert(store, ids, 0, by=caller_with('namespace "*" { policy = "read" }'))
    assert refused.value.missing == "submit-job or revert-job in namespace default"


def test_going_back_needs_no_more_than_its_own_right(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    by = caller_with('namespace "*" { capabilities = ["revert-job"] }')
    assert revert(store, ids, 0, by=by).eval_id


def test_going_back_can_be_closed_for_all_but_managers(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    set_scheduler_settings(
        store, SchedulerSettings(reject_job_registration=True), by=MANAGER, now=NOW
    )
    with pytest.raises(NotAllowed, match=REGISTRATION_DISABLED):
        revert(store, ids, 0, by=caller_with('namespace "*" { policy = "write" }'))


def test_a_registration_brings_no_tag(store, ids):
    register(store, ids)
    tag(store, "good")
    read_again = store.job(KEY)
    register_job(store, JobRegistration(job=read_again), by=MANAGER, now=NOW, ids=ids)
    assert versions(store) == [0]
    changed = replace(read_again, priority=9)
    register_job(store, JobRegistration(job=changed), by=MANAGER, now=NOW, ids=ids)
    assert tags(store) == {0: "good"}


def test_calling_the_running_version_stable_marks_the_job_too(store, ids):
    register(store, ids)
    index = mark(store, 0)
    assert store.job(KEY).stable
    assert store.job(KEY).modify_index == index
    assert store.job_version(KEY, 0) == store.job(KEY)
    assert mark(store, 0) == index
    mark(store, 0, stable=False)
    assert not store.job(KEY).stable


def test_calling_another_version_stable_leaves_the_running_one_alone(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    running = store.job(KEY)
    mark(store, 0)
    assert store.job(KEY) == running
    assert [job.stable for job in store.job_versions(KEY)] == [False, True]
    assert len(store.evaluations()) == 2


@pytest.mark.parametrize("version", [1, -1, 2**70])
def test_only_a_version_that_is_there_is_called_stable(store, ids, version):
    with pytest.raises(VersionNotFound) as refused:
        mark(store, 0)
    assert str(refused.value) == NOT_FOUND.format(0)
    register(store, ids)
    with pytest.raises(VersionNotFound) as refused:
        mark(store, version)
    assert str(refused.value) == NOT_FOUND.format(version)


def test_a_tag_names_a_version_and_makes_none(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    before = store.index

    tagged = tag(store, "good", version=0, description="ran for a year")

    named = VersionTag(name="good", description="ran for a year", tagged_time=NOW + 2)
    assert tagged == VersionTagged(index=before + 1, version=0, tag=named)
    assert [job.version_tag for job in store.job_versions(KEY)] == [None, named]
    assert store.job_version(KEY, 0).modify_index == before + 1
    assert store.job(KEY).modify_index < before + 1
    assert [frame.kind for frame in store.frames_since(before)] == [WriteKind.JOB_VERSION_TAGGED]


def test_the_newest_version_is_tagged_unless_one_is_named(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    assert tag(store, "good").version == 1
    assert store.job(KEY).version_tag.name == "good"


def test_a_version_has_one_tag_and_a_tag_one_version(store, ids):
    register(store, ids, Priority=10)
    register(store, ids, Priority=20)
    tag(store, "good", version=0)
    tag(store, "better", version=0, description="words")
    assert tags(store) == {0: "better"}
    before = store.index

    with pytest.raises(TagTaken) as refused:
        tag(store, "better", version=1)

    assert str(refused.value) == (
        'tag "better" already exists on a different version of job "web"'
    )
    assert (store.index, tags(store)) == (before, {0: "better"})
    assert tag(store, "better", version=0, description="new words").tag.description == "new words"
    tag(store, "good", version=1)
    assert tags(store) == {0: "better", 1: "good"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "the name of the tag is missing"),
        ("a\nb", "the name of the tag contains a control character"),
        ("x" * 513, "the name of the tag is longer than 512 characters"),
    ],
    ids=["empty", "line break", "long"],
)
def test_what_cannot_be_a_tag(store, ids, name, text):
    register(store, ids)
    with pytest.raises(OperationRefused) as refused:
        tag(store, name)
    assert str(refused.value) == text


def test_tags_of_what_is_not_there(store, ids):
    for version in (None, 0, 3):
        with pytest.raises(VersionNotFound) as refused:
            tag(store, "good", version=version)
        assert str(refused.value) == f'job "web" version {version or 0} not found'
    with pytest.raises(TagNotFound) as absent:
        untag(store, "good")
    assert str(absent.value) == 'tag "good" not found on job "web"'
    register(store, ids)
    with pytest.raises(TagNotFound):
        untag(store, "good")


def test_tagged_versions_are_kept_beside_the_six_until_they_are_untagged(store, ids):
    register(store, ids, Priority=1)
    tag(store, "good")
    for priority in range(2, 10):
        register(store, ids, Priority=priority)
    assert versions(store) == [8, 7, 6, 5, 4, 3, 0]

    assert untag(store, "good").version == 0
    assert versions(store) == [8, 7, 6, 5, 4, 3, 0]
    register(store, ids, Priority=50)
    assert versions(store) == [9, 8, 7, 6, 5, 4, 3]
    register(store, ids, Priority=51)
    assert versions(store) == [10, 9, 8, 7, 6, 5, 4]


def test_tags_and_the_word_stable_ask_for_rights_of_their_own(store, ids):
    register(store, ids)

    def by(right):
        return caller_with(f'namespace "*" {{ capabilities = ["{right}"] }}')

    for act, right in (
        (lambda who: mark(store, 0, by=who), "stable-job"),
        (lambda who: tag(store, "good", by=who), "tag-job-version"),
        (lambda who: untag(store, "good", by=who), "tag-job-version"),
    ):
        with pytest.raises(NotAllowed) as refused:
            act(by("read-job"))
        assert refused.value.missing == f"submit-job or {right} in namespace default"
        act(by(right))


def test_a_version_is_found_by_its_number_or_its_tag(store, ids):
    register(store, ids)
    tag(store, "good")
    kept = store.job_versions(KEY)
    assert version_among(kept, 0) == tagged_among(kept, "good") == store.job(KEY)
    with pytest.raises(VersionNotFound, match="version 7 not found"):
        version_among(kept, 7)
    with pytest.raises(TagNotFound, match='tag "bad" not found'):
        tagged_among(kept, "bad")
