"""A story that is followed is, after whatever happens, as one that is opened now."""

from random import Random  # noqa: TID251 - the same stories every time

import pytest

from dashboard.feeds.feed import rendered
from dashboard.graphs.drawing import DrawnGraph
from dashboard.panels import feed_for
from dashboard.queries.story import Shown, story_panel
from dashboard.stories.lane_choice import BY_PLACE, LaneChoice
from dashboard.stories.whole import whole_of
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.writes.nodes import write_node
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, LifecycleStep, Step
from scheduler.structs.story import Story, StoryKind, StoryNode
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.dashboard.drawn_page import DrawnPage

ROLLOUT = Story(
    id="s" * 8,
    kind=StoryKind.ROLLOUT,
    namespace="default",
    job_id="web",
    create_time=SOME_MOMENT,
    create_index=1,
)
LOSS = Story(id="l" * 8, kind=StoryKind.LOSS, node_count=2, create_time=SOME_MOMENT)
ENDS = (EvalStatus.COMPLETE, EvalStatus.FAILED, EvalStatus.CANCELED)
STEPS = (Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED, Step.DELAYED)


class World:
    """A record in which a story goes on by chance."""

    def __init__(self, store, story, seed):
        self.store, self.story = store, story
        self.chance = Random(seed)  # noqa: S311 - the same stories every time
        self.made, self.steps = [], 0
        self.acts, self.held = [], False

        def begin(change):
            change.put(STORIES, story)
            change.put_job(make_job(create_index=change.index))
            if story.kind is StoryKind.ROLLOUT:
                change.put_deployment(self.deployment(0))
            for number in (1, 2):
                node = make_node(number, meta={"rack": f"r{number}"})
                write_node(change, node)
                link = StoryNode(story_id=story.id, node_id=node.id, kind=story.kind)
                change.put(STORY_NODES, link)

        self._write(begin)

    def deployment(self, healthy):
        group = GroupRollout(desired_total=6, healthy_allocs=healthy)
        return Deployment(
            id="d", job_id="web", story_id=self.story.id, task_groups={"web": group},
            status=DeploymentStatus.PAUSED if self.held else DeploymentStatus.RUNNING,
            acts=tuple(self.acts),
        )  # fmt: skip

    def go_on(self):
        """One write: an evaluation is made, takes a step or ends, an allocation is placed."""
        acts = [self._make, self._step, self._end, self._place, self._hold]
        self._write(self.chance.choice(acts if self.made else acts[:1]))

    def _write(self, work):
        self.store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT + self.steps * SECOND)
        self.steps += 1

    def _make(self, change):
        number = len(self.made) + 1
        parent = self.chance.choice([*self.made, None]) if self.made else None
        row = make_evaluation(
            number,
            job_id="web" if self.story.job_id else f"job-{self.chance.randrange(6)}",
            status=self.chance.choice((EvalStatus.PENDING, EvalStatus.BLOCKED)),
            create_index=0,
            create_time=change.now,
            modify_time=change.now,
            previous_eval=parent.id if parent else "",
            queued_allocations={"web": self.chance.randrange(3)},
            story_id=self.story.id,
            cause=None
            if parent
            else Cause(kind=CauseKind.NODE, id=make_node(self.chance.randrange(1, 3)).id),
        )
        change.put_evaluation(row)
        self.made.append(change.evaluation(row.id))

    def _step(self, change):
        row = self.chance.choice(self.made)
        number = 1 + len(change.lifecycle(row.id))
        step = LifecycleStep(
            eval_id=row.id, number=number, step=self.chance.choice(STEPS), at=change.now,
            index=change.index,
        )  # fmt: skip
        change.put(LIFECYCLE_STEPS, step)

    def _end(self, change):
        opened = [row for row in self.made if not change.evaluation(row.id).is_terminal]
        if opened:
            row = change.evaluation(self.chance.choice(opened).id)
            change.put_evaluation(row.changed(status=self.chance.choice(ENDS)))

    def _hold(self, change):
        if self.story.job_id:
            self.held = not self.held
            verb = RolloutVerb.PAUSED if self.held else RolloutVerb.RESUMED
            self.acts.append(RolloutAct(verb=verb, by="kim", at=change.now, index=change.index))
            change.put_deployment(self.deployment(2))

    def _place(self, change):
        number = self.chance.randrange(8)
        change.put_allocation(
            make_allocation(
                number=number, deployment_id="d" if self.story.job_id else "",
                create_index=change.index, create_time=change.now,
            )
        )  # fmt: skip
        if self.story.job_id:
            change.put_deployment(self.deployment(self.chance.randrange(6)))


def followed(store, story, how=LaneChoice()):  # noqa: B008 - a value that never changes
    key = f"{story.id}/{how.text}" if how.text else story.id
    feed = feed_for(Subscription("story", key, None))
    index = store.read(lambda reader: (feed.load(reader), reader.index)[1])
    return feed, index


@pytest.mark.parametrize(
    ("story", "how"),
    [
        pytest.param(ROLLOUT, LaneChoice(), id="rollout"),
        pytest.param(LOSS, LaneChoice(), id="loss"),
        pytest.param(LOSS, LaneChoice("", BY_PLACE), id="loss-by-rack"),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_an_open_story_is_as_one_that_is_opened_now(sqlite_store, story, how, seed):
    store = sqlite_store
    world = World(store, story, seed)
    feed, index = followed(store, story, how)
    page = DrawnPage(feed.standing(SOME_MOMENT)[0].graph)
    told = {}
    now = SOME_MOMENT + 1000 * SECOND
    for _ in range(25):
        for _ in range(world.chance.randrange(1, 4)):
            world.go_on()
        for frame in store.read(lambda reader, since=index: reader.frames_after(since, 100)):
            feed.observe(frame)
            index = frame.index
        for piece in store.read(lambda reader: feed.flush(reader, now)):
            if hasattr(piece, "patch"):
                page.take(piece.patch)
            else:
                told[piece.target] = piece.html
        assert_fresh(store, (story, how), feed, page, told, now)
    assert len(world.made) > 3


def assert_fresh(store, followed, feed, page, told, now):
    story, how = followed

    def fresh(reader):
        whole = whole_of(reader, story, now, how=how)
        return whole, {**story_panel(reader, whole, Shown(by=how.by)), "now": now}

    whole, context = store.read(fresh)
    opened = DrawnPage(DrawnGraph(whole.graph).whole())
    assert page.layers == opened.layers
    assert (page.frame, page.description) == (opened.frame, opened.description)
    for panel in feed.panels:
        if panel.target in told:
            # The index on a page is counted by the socket.
            assert plain(told[panel.target]) == plain(rendered(panel.template, context))


def plain(html):
    before, _, after = html.partition("data-live-index>")
    return before + after.partition("<")[2]


def test_what_is_of_other_stories_draws_nothing(sqlite_store):
    world = World(sqlite_store, ROLLOUT, 1)
    feed, index = followed(sqlite_store, ROLLOUT)
    other = make_evaluation(77, job_id="other", story_id="other", create_index=0)
    world._write(lambda change: change.put_evaluation(other))
    for frame in sqlite_store.read(lambda reader: reader.frames_after(index, 10)):
        feed.observe(frame)
    assert not feed.needs_reader
