"""Any order of registering, scaling, stopping and purging a job leaves its policies and events so.

The rows of policies say what the groups of the current version say, each with the id it began
with; their table's index moves with them and with nothing else.
"""

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import OperationRefused
from cluster.operations.job_versions import revert_job
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.scaling import ScalingRequest, scale_job
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.scaling_nouns import SCALING_EVENTS, SCALING_POLICIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.identity import JobKey
from tests.builders import SOME_MOMENT, CountingIDs
from tests.callers import MANAGER

KEY = JobKey("default", "web")
GROUPS = ("a", "b", "c")
#: None: a group without a policy; else its greatest count.
BOUNDS = st.dictionaries(st.sampled_from(GROUPS), st.none() | st.integers(2, 4), min_size=1)
ACTS = st.one_of(
    st.tuples(st.just("register"), BOUNDS),
    st.tuples(st.just("scale"), st.tuples(st.sampled_from(GROUPS), st.none() | st.integers(0, 5))),
    st.tuples(st.just("stop"), st.booleans()),
    st.tuples(st.just("revert"), st.integers(0, 5)),
    st.tuples(st.just("roll_back"), st.integers(0, 5)),
)


def job_of(bounds):
    task = {"Name": "main", "Driver": "mock_driver"}
    groups = [
        {"Name": name, "Count": 1, "Tasks": [task]}
        | ({} if most is None else {"Scaling": {"Min": 0, "Max": most}})
        for name, most in bounds.items()
    ]
    return parse_job({"ID": "web", "Type": "service", "TaskGroups": groups})


class Life:
    """One job and what is done to it."""

    def __init__(self):
        self.store = MemoryStateStore()
        self.means = {"by": MANAGER, "now": SOME_MOMENT, "ids": CountingIDs()}

    def register(self, bounds):
        register_job(self.store, JobRegistration(job=job_of(bounds)), **self.means)

    def scale(self, asked):
        request = ScalingRequest(task_group=asked[0], count=asked[1])
        scale_job(self.store, KEY, request, **self.means)

    def revert(self, version):
        revert_job(self.store, KEY, version, **self.means)

    def roll_back(self, version):
        """As a deployment that failed does it: the old version as it stands, with its old ids."""

        def work(change):
            target = change.job_version(KEY, version)
            if target is not None and change.job(KEY) is not None:
                write_job(change, target)

        self.store.write(WriteKind.DEPLOYMENT_STATUS_UPDATE, work, now=SOME_MOMENT)

    def stop(self, purge):
        deregister_job(self.store, KEY, purge=purge, **self.means)

    def policies(self):
        return self.store.list_all(SCALING_POLICIES)


def said(policies):
    """What they say, without the number of the write that said it."""
    return [replace(policy, modify_index=0) for policy in policies]


#: The policy was left out for a while, so the old version has it under an id that is gone.
TAKEN_BACK = [
    ("register", {"a": 3}),
    ("register", {"a": None}),
    ("register", {"a": 3}),
    ("roll_back", 0),
]


@given(st.lists(ACTS, max_size=30))
@example(TAKEN_BACK)
def test_policies_are_those_of_the_current_version_and_their_index_tells_of_changes(acts):
    life = Life()
    store = life.store
    for name, argument in acts:
        before, index = life.policies(), store.table_index("scaling_policies")
        newest = store.index
        try:
            getattr(life, name)(argument)
        except OperationRefused:
            assert store.index == newest
        job = store.job(KEY)
        wanted = [] if job is None else [group.scaling for group in job.task_groups]
        kept = life.policies()
        assert kept == sorted(filter(None, wanted), key=lambda policy: policy.id)
        moved = store.table_index("scaling_policies") != index
        assert moved == (said(kept) != said(before))
        ids = {policy.task_group: policy.id for policy in before}
        assert all(policy.id == ids.get(policy.task_group, policy.id) for policy in kept)
        if job is None:
            assert store.list_all(SCALING_EVENTS) == []
        elif job.stop:
            assert not any(policy.enabled for policy in kept)


@given(st.lists(st.sampled_from(GROUPS[:2]), min_size=42, max_size=60))
def test_the_newest_twenty_events_of_each_group_are_there(groups):
    life = Life()
    life.register(dict.fromkeys(GROUPS))
    indexes = {name: [] for name in GROUPS}
    for group in groups:
        life.scale((group, None))
        indexes[group].append(life.store.index)
    rows = life.store.list_by(SCALING_EVENTS, "job", KEY)
    for name in GROUPS:
        found = [row.create_index for row in rows if row.task_group == name]
        assert found == indexes[name][-20:]
