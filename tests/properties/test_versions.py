"""Whatever order jobs are registered, stopped, reverted, tagged and called stable in."""

from hypothesis import example, given
from hypothesis import strategies as st

from cluster.operations.admission import JobMovedOn
from cluster.operations.job_versions import (
    AlreadyCurrent,
    TagNotFound,
    TagTaken,
    VersionNotFound,
    mark_job_stable,
    revert_job,
    tag_version,
    untag_version,
)
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import KEPT_VERSIONS, has_same_spec
from scheduler.structs.identity import JobKey
from tests.builders import CountingIDs
from tests.callers import MANAGER
from tests.cluster.operations.plain_jobs import plain_job

NOW = 1_750_000_000_000_000_000
KEY = JobKey("default", "web")
EXPECTED = (AlreadyCurrent, JobMovedOn, TagNotFound, TagTaken, VersionNotFound)

#: Near enough to one another to meet, far enough to miss.
VERSIONS = st.integers(0, 12)
TAGS = st.sampled_from(["good", "better", "best"])
ACTS = st.one_of(
    st.tuples(st.just("register"), st.integers(1, 4)),
    st.tuples(st.just("register"), st.integers(5, 99)),
    st.tuples(st.just("stop"), st.none()),
    st.tuples(st.just("purge"), st.none()),
    st.tuples(st.just("revert"), st.tuples(VERSIONS, st.none() | VERSIONS)),
    st.tuples(st.just("tag"), st.tuples(TAGS, st.none() | VERSIONS)),
    st.tuples(st.just("untag"), TAGS),
    st.tuples(st.just("stable"), st.tuples(VERSIONS, st.booleans())),
)


class Life:
    """One job, what is done to it, and what must hold after each act."""

    def __init__(self) -> None:
        self.store = MemoryStateStore()
        self.ids = CountingIDs()

    def versions(self):
        return list(self.store.job_versions(KEY))

    def act(self, name, given):
        before, index = self.versions(), self.store.index
        try:
            getattr(self, name)(given)
        except EXPECTED:
            assert (self.versions(), self.store.index) == (before, index)
            return
        self.require_order()
        if name != "purge":
            self.require_kept(before, name)

    def require_order(self):
        kept = self.versions()
        numbers = [job.version for job in kept]
        assert numbers == sorted(set(numbers), reverse=True)
        assert self.store.job(KEY) == (kept[0] if kept else None)
        tags = [job.version_tag.name for job in kept if job.version_tag]
        assert len(tags) == len(set(tags))

    def require_kept(self, before, name):
        kept = {job.version: job for job in self.versions()}
        gone = [job for job in before if job.version not in kept]
        new = [version for version in kept if version not in {job.version for job in before}]
        assert new in ([], [before[0].version + 1 if before else 0])
        assert len(gone) <= len(new)
        untagged = [job for job in kept.values() if job.version_tag is None]
        if new:
            was = sum(job.version_tag is None for job in before)
            assert len(untagged) == max(min(was + 1, KEPT_VERSIONS), was)
            assert kept[new[0]].version_tag is None
            # A stop is the version before it, which wants nothing any more.
            assert kept[new[0]].stable == (name == "stop" and before[0].stable)
        # A stop is nothing to go back to (control-plane.md, corrections).
        stable = next((job for job in before if job.stable and not job.stop), None)
        for job in gone:
            assert job.version_tag is None
            assert job != stable
            older = [each for each in before if each.version < job.version]
            assert all(each.version_tag or each == stable for each in older)
        if name in ("register", "revert", "stop"):
            assert all(kept[job.version] == job for job in before[1:] if job not in gone)

    def register(self, priority):
        request = JobRegistration(job=plain_job(priority=priority))
        register_job(self.store, request, by=MANAGER, now=NOW, ids=self.ids)

    def stop(self, _):
        deregister_job(self.store, KEY, by=MANAGER, now=NOW, ids=self.ids)

    def purge(self, _):
        deregister_job(self.store, KEY, purge=True, by=MANAGER, now=NOW, ids=self.ids)
        assert self.versions() == []

    def revert(self, asked):
        version, prior = asked
        old = next((job for job in self.versions() if job.version == version), None)
        current = self.store.job(KEY)
        revert_job(
            self.store,
            KEY,
            version,
            enforce_prior_version=prior,
            by=MANAGER,
            now=NOW,
            ids=self.ids,
        )
        job = self.store.job(KEY)
        assert prior in (None, current.version)
        assert version != current.version
        assert (job.priority, job.stop) == (old.priority, old.stop)
        assert job.version == current.version + (not has_same_spec(job, current))

    def tag(self, asked):
        name, version = asked
        wanted = self.store.job(KEY).version if version is None and self.versions() else version
        tagged = tag_version(self.store, KEY, name, version=version, by=MANAGER, now=NOW)
        holder = next(job for job in self.versions() if job.version == wanted)
        assert holder.version_tag == tagged.tag
        assert tagged.tag.name == name

    def untag(self, name):
        untag_version(self.store, KEY, name, by=MANAGER, now=NOW)
        assert name not in [job.version_tag.name for job in self.versions() if job.version_tag]

    def stable(self, asked):
        version, stable = asked
        mark_job_stable(self.store, KEY, version, stable=stable, by=MANAGER, now=NOW)
        marked = next(job for job in self.versions() if job.version == version)
        assert marked.stable == stable


A_STABLE_STOP_GROWS_OLD = [
    ("register", 1), ("stop", None), ("stable", (1, True)),
    *(("register", priority) for priority in range(2, 12)),
]  # fmt: skip


@example(A_STABLE_STOP_GROWS_OLD)
@given(st.lists(ACTS, max_size=40))
def test_versions_are_kept_by_their_rules(acts):
    life = Life()
    for name, asked in acts:
        life.act(name, asked)
