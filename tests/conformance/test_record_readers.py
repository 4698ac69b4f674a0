"""What pages ask of a record is answered alike from memory, by looking at all, and by SQL."""

from itertools import product

import pytest
from msgspec.structs import replace

from cluster.operations.story_rights import OF_OPERATORS
from cluster.store.log_reader import index_at
from cluster.store.ports import Listing, StoryFilter
from scheduler.state import nouns
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.allocation import AllocState, ClientStatus, DesiredStatus, TaskState
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobSummary
from scheduler.structs.node import DrainStrategy, NodeEligibility, NodeStatus
from scheduler.structs.story import Story, StoryKind, StoryNode
from tests.builders import make_allocation, make_evaluation, make_job, make_node
from tests.memory_record import MemoryRecord

KEYS = {JobKey(namespace, job_id) for namespace in ("default", "team") for job_id in ("web", "db")}
MILLISECOND = 1_000_000
STATUSES = tuple(EvalStatus)
ENDS = tuple(product((DesiredStatus.RUN, DesiredStatus.STOP), ClientStatus))


def fill(change):
    for place, key in enumerate(sorted(KEYS)):
        change.put_job(make_job(namespace=key.namespace, id=key.job_id, create_index=place))
        change.put(nouns.JOB_SUMMARIES, JobSummary(namespace=key.namespace, job_id=key.job_id))
        change.put_deployment(
            Deployment(
                id=f"d{place}",
                namespace=key.namespace,
                job_id=key.job_id,
                create_index=9,
                story_id=f"{place}{place:035x}",
            )
        )
        for turn, status in enumerate(STATUSES):
            number = 10 * place + turn
            put_found(
                change,
                make_evaluation(
                    number, namespace=key.namespace, job_id=key.job_id, status=status,
                    create_index=100 - turn,
                ),
            )  # fmt: skip
            for step in (1, 2):
                eval_id = make_evaluation(number).id
                change.put(
                    nouns.LIFECYCLE_STEPS,
                    LifecycleStep(eval_id=eval_id, number=step, step=Step.CREATED, at=step),
                )
        for turn, (desired, client) in enumerate(ENDS):
            put_found(
                change,
                replace(
                    make_allocation(number=turn), id=f"{place}a{turn:02}", namespace=key.namespace,
                    job_id=key.job_id, desired_status=desired, client_status=client,
                    alloc_states=(AllocState(value=client.value, time=2 * MILLISECOND),),
                    task_states={"web": TaskState(restarts=1 + turn % 3)},
                ),
            )  # fmt: skip
    change.put_node(make_node(1))
    change.put_node(make_node(4, status=NodeStatus.INITIALIZING))
    change.put_node(make_node(2, scheduling_eligibility=NodeEligibility.INELIGIBLE))
    change.put_node(
        make_node(
            3, drain_strategy=DrainStrategy(), scheduling_eligibility=NodeEligibility.INELIGIBLE
        )
    )


def tell(change):
    """Stories of every kind, some of which still run; a node that drains a second time."""
    for place, kind in enumerate(StoryKind):
        job = sorted(KEYS)[place % len(KEYS)] if place % 3 else JobKey("", "")
        launched = "parent" if kind is StoryKind.LAUNCH else ""
        change.put(
            STORIES,
            Story(
                id=f"{place:x}{place:035x}", kind=kind, namespace=job.namespace,
                job_id=job.job_id, parent_job_id=launched, actor="kim" if place % 2 else "",
                create_index=place // 2, create_time=MILLISECOND, modify_time=place * MILLISECOND,
            ),
        )  # fmt: skip
    drain, other = (f"{place:x}{place:035x}" for place in (2, 3))
    for at, story_id in enumerate((drain, other)):
        link = StoryNode(
            story_id=story_id, node_id=make_node(3).id, kind=StoryKind.DRAIN, index=at,
            current=at == 1,
        )  # fmt: skip
        change.put(STORY_NODES, link)
    change.put(
        STORY_NODES,
        StoryNode(story_id=other, node_id=make_node(1).id, kind=StoryKind.LOSS, index=1 << 40),
    )
    for number in (0, 1, 2, 3, 10, 13, 24):
        row = change.evaluation(make_evaluation(number).id)
        at = MILLISECOND * (number + 1)
        told = row.changed(
            story_id=f"{number % 7:x}{number % 7:035x}", create_time=at, modify_time=2 * at
        )
        put_found(change, told)


def collect(change):
    change.delete_evaluation(make_evaluation(2).id)


@pytest.fixture(params=["sqlite", "postgres"])
def both(request):
    """The same writes in memory and in a database."""
    records = MemoryRecord(), request.getfixturevalue(f"{request.param}_store")
    for record in records:
        for work in (fill, tell, collect):
            record.write(WriteKind.EVALUATION_UPDATED, work, now=1)
    return records


def agreed(both, ask):
    plain, database = (record.read(ask) for record in both)
    assert database == plain
    return plain


LISTED = (
    nouns.JOBS, nouns.EVALUATIONS, nouns.EVALUATION_STUBS, nouns.ALLOCATIONS, nouns.DEPLOYMENTS,
    nouns.NODES, STORIES,
)  # fmt: skip
LISTINGS = [
    Listing(namespaces=namespaces, prefix=prefix, reverse=reverse, by_id=by_id, limit=limit)
    for namespaces, prefix, reverse, by_id, limit in product(
        (None, (), ("team",), ("default", "team")), ("", "0", "w"), (False, True), (False, True),
        (0, 3),
    )
]  # fmt: skip


def test_lists_hold_the_same_rows_in_the_same_order(both):
    for noun, listing in product(LISTED, LISTINGS):
        rows = agreed(both, lambda r, n=noun, each=listing: r.page(n, each))
        agreed(both, lambda r, n=noun, each=listing: list(r.walk(n, each)))
        agreed(both, lambda r, n=noun, each=listing: r.count(n, each))
        if listing.limit and rows:
            further = replace(listing, after=place_of(noun, rows[-1], listing))
            agreed(both, lambda r, n=noun, each=further: r.page(n, each))
            agreed(both, lambda r, n=noun, each=listing: r.first_ids(n, each))


def place_of(noun, row, listing):
    if noun is nouns.JOBS:
        return (row.id, row.namespace) if listing.by_id else (row.namespace, row.id)
    return (row.id,) if listing.by_id or noun is nouns.NODES else (row.create_index, row.id)


@pytest.mark.parametrize(
    "equals",
    [{"status": "blocked"}, {"status": "complete"}, {"job_id": "web"},
     {"job_id": "db", "status": "pending"}],
)  # fmt: skip
def test_equalities_narrow_alike(both, equals):
    for namespaces in (None, ("team",)):
        listing = Listing(namespaces=namespaces, equals=equals, reverse=True)
        assert agreed(both, lambda r, each=listing: r.page(nouns.EVALUATIONS, each))
        agreed(both, lambda r, each=listing: r.count(nouns.EVALUATIONS, each))


def by_id(rows):
    return sorted(rows, key=lambda row: row.id)


FILTERS = [
    StoryFilter(),
    StoryFilter(running=True),
    StoryFilter(running=False, namespaces=("default", "")),
    StoryFilter(namespaces=()),
    StoryFilter(namespaces=("team",), actor="kim"),
    StoryFilter(actor=""),
    StoryFilter(kinds=frozenset({StoryKind.DRAIN, StoryKind.LOSS})),
    StoryFilter(job=JobKey("default", "db")),
    StoryFilter(job=JobKey("default", "parent")),
    StoryFilter(node_id=make_node(3).id),
    StoryFilter(since=6 * MILLISECOND),
    StoryFilter(prefix="3"),
    StoryFilter(hidden_kinds=OF_OPERATORS),
    StoryFilter(namespaces=("default", ""), hidden_kinds=frozenset(StoryKind) - OF_OPERATORS),
]


@pytest.mark.parametrize("wanted", FILTERS)
def test_stories_are_listed_alike(both, wanted):
    every = agreed(both, lambda r: r.stories(wanted, 50))
    assert agreed(both, lambda r: sum(r.story_tally(wanted).values())) == len(every)
    for place, row in enumerate(every):
        part = agreed(both, lambda r, at=row.place: r.stories(wanted, 2, at))
        assert part == every[place : place + 3]


@pytest.mark.parametrize("running", [None, True, False])
def test_the_newest_stories_of_a_job_of_many_are_listed_alike(both, running):
    """Every third one is another's, in which the job has an evaluation as old or younger."""

    def work(change):
        for number in range(30):
            owner = "other" if number % 3 else "many"
            story = Story(
                id=f"{number:08}-many", namespace="default", job_id=owner,
                create_index=100 + number,
            )  # fmt: skip
            change.put(STORIES, story)
            made = make_evaluation(
                900 + number, namespace="default", job_id="many", story_id=story.id,
                create_index=100 + number + number % 5 * 7,
                status=EvalStatus.COMPLETE if number % 4 else EvalStatus.BLOCKED,
            )  # fmt: skip
            put_found(change, made)

    for record in both:
        record.write(WriteKind.EVALUATION_UPDATED, work, now=1)
    wanted = StoryFilter(
        job=JobKey("default", "many"), namespaces=("default", ""), running=running
    )
    every = agreed(both, lambda r: r.stories(wanted, 50))
    assert len(every) == {None: 30, True: 8, False: 22}[running]
    for limit in (1, 3, 7):
        assert agreed(both, lambda r, most=limit: r.stories(wanted, most)) == every[: limit + 1]


STORY_LISTINGS = [
    Listing(equals={"is_running": True}, reverse=True),
    Listing(equals={"is_running": False, "kind": "drain"}, namespaces=("default", "")),
    Listing(equals={"actor": "kim"}, sort=("kind",), limit=3),
    Listing(of_job=JobKey("default", "db")),
    Listing(of_job=JobKey("default", "db"), namespaces=("team", "")),
    Listing(with_node=make_node(3).id),
    Listing(hidden_kinds=frozenset(StoryKind)),
    Listing(namespaces=("default", ""), hidden_kinds=OF_OPERATORS),
    Listing(with_node=make_node(3).name, sort=("actor",)),
]


@pytest.mark.parametrize("listing", STORY_LISTINGS)
def test_what_no_column_of_a_story_says_narrows_alike(both, listing):
    rows = agreed(both, lambda r: r.page(STORIES, listing))
    assert agreed(both, lambda r: r.count(STORIES, listing)) >= len(rows) - 1
    told = ("is_running", "kind", "actor", "namespace")
    counts = agreed(both, lambda r: r.facets(STORIES, told, listing))
    assert bool(rows) == bool(counts)


PLACES = ("client_status", "datacenter", "node_pool", "namespace")


@pytest.mark.parametrize(
    "listing",
    [
        Listing(),
        Listing(equals={"datacenter": "dc1"}, namespaces=("team",)),
        Listing(equals={"node_pool": "default", "client_status": "running"}, reverse=True),
        Listing(equals={"datacenter": "nowhere"}),
    ],
)
def test_allocations_are_counted_by_where_their_nodes_stand(both, listing):
    agreed(both, lambda r: r.page(nouns.ALLOCATIONS, listing))
    counts = agreed(both, lambda r: r.facets(nouns.ALLOCATIONS, PLACES, listing))
    count = agreed(both, lambda r: r.count(nouns.ALLOCATIONS, listing))
    assert sum(counts.values()) == count
    assert bool(count) == (listing.equals.get("datacenter") != "nowhere")
    agreed(both, lambda r: r.facets(nouns.ALLOCATIONS, ("node_id",), listing, 2))


@pytest.mark.parametrize("namespaces", [None, ("team",), ()])
def test_evaluations_of_a_story_come_with_the_collected_ones(both, namespaces):
    for number in (2, 3):
        story_id = f"{number}{number:035x}"

        def ask(record, story_id=story_id, **how):
            return record.story_evaluations(story_id, namespaces=namespaces, **how)

        every = agreed(both, ask)
        if every:
            row = every[0].evaluation
            after = (row.create_index, row.id)
            assert agreed(both, lambda r, at=after: ask(r, limit=1, after=at)) == every[:2]
    assert any(
        row.is_collected for row in agreed(both, lambda r: r.story_evaluations(f"2{2:035x}"))
    )


IDS = [make_evaluation(number).id for number in (0, 1, 99)]
QUESTIONS = {
    "jobs-among": lambda r: by_id(r.jobs_among({JobKey("team", "web"), JobKey("team", "no")})),
    "server-indexes-on": lambda r: [
        r.server_indexes_on(node_id)
        for node_id in sorted({*(a.node_id for a in r.allocations()), "x"})
    ],
    "summaries-among": lambda r: r.summaries_among({JobKey("team", "web"), JobKey("x", "web")}),
    "open-allocations": lambda r: r.open_allocations(JobKey("team", "web"), 50),
    "blocked-among": lambda r: r.blocked_among({JobKey("default", "db"), JobKey("x", "web")}),
    "closed-nodes": lambda r: by_id(r.closed_nodes()),
    "newest-steps": lambda r: r.newest_steps_of(IDS),
    "lives": lambda r: r.lives_of(IDS),
    "recent-steps": lambda r: r.recent_steps(3),
    "node-tally": lambda r: r.node_tally(),
    "node-faces": lambda r: by_id(r.node_faces()),
    "job-faces": lambda r: sorted(r.job_faces(None)),
    "job-faces-of-a-namespace": lambda r: sorted(r.job_faces({"team"})),
    "live-on-nodes": lambda r: by_id(r.live_on({make_node().id, make_node(2).id})),
    "running-stories": lambda r: r.running_stories(),
    "progress": lambda r: r.progress_of([f"{place:x}{place:035x}" for place in range(9)]),
    "progress-in-a-namespace": lambda r: r.progress_of([f"3{3:035x}"], ("team",)),
    "figures": lambda r: r.story_figures([f"{place:x}{place:035x}" for place in range(9)]),
    "figures-in-a-namespace": lambda r: r.story_figures([f"3{3:035x}"], ("team",)),
    "losses": lambda r: r.story_losses(f"3{3:035x}"),
    "losses-in-a-namespace": lambda r: r.story_losses(f"3{3:035x}", ("team",)),
    "losses-of-no-loss": lambda r: r.story_losses(f"2{2:035x}"),
    "story-faces": lambda r: r.story_faces(f"2{2:035x}"),
    "story-faces-in-a-namespace": lambda r: r.story_faces(f"3{3:035x}", ("team",)),
    "evaluations-among": lambda r: r.evaluations_among(IDS),
    "stories-among": lambda r: r.stories_among([f"{place:x}{place:035x}" for place in range(9)]),
    "deployments-of-stories": lambda r: r.deployments_of_stories(
        [f"{place:x}{place:035x}" for place in range(9)]
    ),
    "restarting": lambda r: sorted(r.restarting_among(KEYS, 1)),
    "oldest-event": lambda r: r.oldest_event,
    "frames-after": lambda r: r.frames_after(1, 10),
    "frames-back": lambda r: list(r.frames_back(2, lambda _, topic, *__: topic == "Evaluation")),
    "frames-back-of-a-kind": lambda r: list(r.frames_back(9, lambda kind, *_: "plan" in kind)),
    "moments-of": lambda r: r.moments_of((1, 2, 900)),
    "index-at": lambda r: [index_at(r, moment) for moment in (0, 1, 2)],
}


@pytest.mark.parametrize("namespaces", [None, ("team",), ()])
@pytest.mark.parametrize("at_most", [1, 50])
def test_lives_that_moved_lately_are_told_alike(both, namespaces, at_most):
    found = agreed(both, lambda r: r.moved_lives(3_600 * 1_000_000_000, namespaces, at_most))
    assert bool(found.steps) or namespaces == ()
    assert not found.whole_from or at_most == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_alike(both, question):
    assert agreed(both, QUESTIONS[question])


def test_no_moments_are_told_of_no_indexes(both):
    assert agreed(both, lambda r: r.moments_of(())) == {}


@pytest.mark.parametrize("namespaces", [None, ("team",), ()])
@pytest.mark.parametrize(
    "question",
    ["evaluation_tally", "open_tally", "open_statuses", "blocked_ids", "job_count", "job_keys",
     "newest_steps_of_pending"],
)  # fmt: skip
def test_counts_agree(both, question, namespaces):
    found = agreed(both, lambda r: getattr(r, question)(namespaces))
    assert bool(found) or namespaces == ()
