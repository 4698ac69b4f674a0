"""Pages of allocations: the list, one allocation, its output, its buttons."""

import html
import re

import pytest
from msgspec.structs import replace

from cluster.operations.agent_calls import LINKS, AgentRefused
from cluster.operations.jobs import JobRegistration, register_job
from dashboard.panels import feed_for
from dashboard.queries.allocations import note_of, stop_words
from dashboard.rights import ACTIONS
from dashboard.subscription import Subscription
from scheduler.engine.reconcile import reasons
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.alloc_metric import AllocMetric, NodeScore
from scheduler.structs.allocation import (
    ClientStatus,
    DeploymentHealth,
    DesiredStatus,
    TaskEvent,
    TaskState,
)
from scheduler.structs.node import SIMULATED
from scheduler.structs.resources import TaskLifecycle
from scheduler.structs.story import Story, StoryKind
from scheduler.structs.task_group import Task
from tests.builders import SOME_MOMENT, make_allocation, make_evaluation, make_job, make_node
from tests.callers import MANAGER
from tests.dashboard.views.conftest import listed, one_line


def words(answer):
    return " ".join(html.unescape(answer.text).split())


@pytest.fixture
def put(store, node, ids):
    """Store an allocation of a stored job on the node."""
    register_job(
        store, JobRegistration(job=make_job(id="web")), by=MANAGER, now=SOME_MOMENT, ids=ids
    )
    job = store.read(lambda reader: next(iter(reader.jobs())))

    def put(**fields):
        alloc = make_allocation(
            **(
                {
                    "id": ids.next_id(),
                    "name": "web.web[0]",
                    "job_id": "web",
                    "job_create_index": job.create_index,
                    "node_id": node.id,
                    "node_name": node.name,
                    "client_status": ClientStatus.RUNNING,
                }
                | fields
            )
        )
        store.write(
            WriteKind.PLAN_RESULT,
            lambda change: put_found(
                change, replace(alloc, create_index=change.index, modify_index=change.index)
            ),
            now=SOME_MOMENT,
        )
        return alloc

    return put


class Agent:
    """An agent's channel that answers with what the test has laid ready."""

    def __init__(self, *pieces, refusal=None):
        self.pieces = pieces
        self.refusal = refusal
        self.calls = []

    async def call(self, node_id, verb, body, given=None):
        self.calls.append((node_id, verb, body))
        if self.refusal:
            raise self.refusal
        for piece in self.pieces:
            yield piece


@pytest.fixture
def connect(node):
    """Let an agent hold the node's channel."""
    held = []

    def connect(agent):
        LINKS.add((node.id,), agent)
        held.append(agent)
        return agent

    yield connect
    for agent in held:
        LINKS.remove(agent)


def test_an_empty_list_says_when_it_fills(browser):
    assert "Nothing is placed" in browser.get("/allocations/").text


def test_the_list_shows_the_newest_first(browser, put):
    first, second = put(), put(name="web.web[1]")
    assert listed(browser.get("/allocations/")) == [second.id, first.id]


def test_the_page_tells_tasks_and_their_events(browser, put):
    event = TaskEvent(type="Started", time=SOME_MOMENT, display_message="<b>began</b>")
    alloc = put(task_states={"web": TaskState(state="running", restarts=2, events=(event,))})
    answer = browser.get(f"/allocations/{alloc.id}/")
    assert answer.status == 200
    assert (answer.context["strong"], answer.context["rest"]) == (
        "1 of 1 task running.",
        "Restarted 2 times.",
    )
    assert "&lt;b&gt;began&lt;/b&gt;" in answer.text


ENDED = TaskEvent(
    type="Terminated",
    time=SOME_MOMENT + 12_000_000_000,
    display_message="Exit Code: 7",
    details={"exit_code": "7"},
)
LASTS = [
    pytest.param(TaskState(), "", id="nothing reported"),
    pytest.param(
        TaskState(state="running", events=(TaskEvent(type="Started"),)), "started", id="started"
    ),
    pytest.param(
        TaskState(state="running", restarts=1, events=(ENDED, TaskEvent(type="Started"))),
        "restarted once: exit code 7",
        id="restarted",
    ),
    pytest.param(
        TaskState(state="dead", started_at=SOME_MOMENT, events=(ENDED,)),
        "ended, exit code 7, after 12 s",
        id="ended",
    ),
    pytest.param(
        TaskState(
            state="dead",
            failed=True,
            events=(ENDED, TaskEvent(type="Not Restarting", display_message="Enough of it")),
        ),
        "ended, exit code 7; Enough of it",
        id="failed",
    ),
    pytest.param(
        TaskState(events=(TaskEvent(type="Driver", display_message="Pulls its image"),)),
        "Pulls its image",
        id="on its way",
    ),
]


@pytest.mark.parametrize(("state", "told"), LASTS)
def test_each_task_says_what_came_to_pass_last(browser, put, state, told):
    alloc = put(task_states={"web": state})
    (line,) = browser.get(f"/allocations/{alloc.id}/").context["tasks"]
    assert line.last == told


def around(name, hook, *, is_beside=False):
    lifecycle = TaskLifecycle(hook=hook, sidecar=is_beside)
    return Task(name=name, driver="mock_driver", lifecycle=lifecycle)


def test_what_ended_as_it_should_before_the_others_is_not_missed(browser, store, node, put):
    job = make_job(id="web")
    (group,) = job.task_groups
    tasks = (
        around("migrate", "prestart"), *group.tasks, around("ship", "poststart", is_beside=True)
    )  # fmt: skip
    changed = replace(job, version=1, task_groups=(replace(group, tasks=tasks),))
    store.write(
        WriteKind.JOB_REGISTERED, lambda change: write_job(change, changed), now=SOME_MOMENT
    )
    main = group.tasks[0].name
    alloc = put(
        job_version=1,
        task_states={
            "migrate": TaskState(state="dead", events=(ENDED,)),
            main: TaskState(state="running"),
            "ship": TaskState(state="running"),
        },
    )
    answer = browser.get(f"/allocations/{alloc.id}/")
    assert answer.context["strong"] == "2 of 2 tasks running."
    assert answer.context["tasks_told"] == "2 run, 1 is complete as it should be"
    assert answer.context["log_task"] == main
    assert [line.part for line in answer.context["tasks"]] == [
        "before the others", "", "beside the others"
    ]  # fmt: skip
    assert [f"{line.task} {line.event.type}" for line in answer.context["events"]] == [
        "migrate Terminated"
    ]
    buttons = re.findall(r'data-fill-task="(\w+)"', answer.text)
    assert buttons == [main, "ship"]


def test_tasks_and_events_follow_while_the_page_is_open(store, browser, put):
    alloc = put()
    feed = feed_for(Subscription("allocation", alloc.id, None, frozenset(ACTIONS)))
    store.read(feed.load)
    since = store.read(lambda reader: reader.index)
    put(id=alloc.id, task_states={"web": TaskState(state="running", events=(ENDED,))})
    for frame in store.frames_since(since):
        feed.observe(frame)
    pieces = store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
    told = {piece.target: one_line(piece.html) for piece in pieces}
    page = browser.get(f"/allocations/{alloc.id}/").text
    assert "Exit Code: 7" in told["alloc-events"]
    assert 'data-fill-task="web"' in told["alloc-tasks"]
    for target in ("alloc-tasks", "alloc-events"):
        assert told[target] in page


def test_the_page_tells_why_it_is_here(browser, put, node):
    score = NodeScore(node_id=node.id, scores={"binpack": 0.5}, norm_score=0.5)
    alloc = put(metrics=AllocMetric(nodes_evaluated=1, score_meta_data=(score,)))
    why = browser.get(f"/allocations/{alloc.id}/").context["why"]
    assert [(each.name, each.is_chosen) for each in why.candidates] == [(node.name, True)]


STATES = [
    pytest.param({}, "running", id="running"),
    pytest.param({"desired_status": DesiredStatus.STOP}, "stopping", id="stopping"),
    pytest.param(
        {"desired_status": DesiredStatus.STOP, "client_status": ClientStatus.COMPLETE},
        "stopped",
        id="stopped",
    ),
    pytest.param(
        {"desired_status": DesiredStatus.EVICT, "client_status": ClientStatus.COMPLETE},
        "evicted",
        id="evicted",
    ),
    pytest.param(
        {"desired_status": DesiredStatus.STOP, "client_status": ClientStatus.LOST},
        "lost",
        id="lost",
    ),
    pytest.param({"client_status": ClientStatus.FAILED}, "failed", id="failed"),
]


@pytest.mark.parametrize(("fields", "state"), STATES)
def test_one_word_says_where_it_stands(browser, put, fields, state):
    alloc = put(**fields)
    assert browser.get(f"/allocations/{alloc.id}/").context["state"] == state


def test_one_whose_node_said_nothing_has_not_been_started(browser, put):
    alloc = put(client_status=ClientStatus.PENDING)
    assert browser.get(f"/allocations/{alloc.id}/").context["strong"] == (
        "Placed; its node has not started it yet."
    )


def test_a_task_in_back_off_is_not_said_to_have_never_started(browser, put):
    events = (
        TaskEvent(type="Started", time=SOME_MOMENT, display_message="Task started by client"),
        TaskEvent(type="Restarting", time=SOME_MOMENT, display_message="Task restarting in 15s"),
    )
    state = TaskState(state="pending", restarts=3, started_at=SOME_MOMENT, events=events)
    alloc = put(client_status=ClientStatus.PENDING, task_states={"web": state})
    context = browser.get(f"/allocations/{alloc.id}/").context
    assert (context["strong"], context["rest"]) == (
        "Task web ended and waits to be started again.",
        "Task restarting in 15s. 3 restarts so far.",
    )


def test_a_finished_first_task_is_not_said_to_wait(browser, put):
    ended = TaskEvent(type="Terminated", time=SOME_MOMENT, display_message="Exit Code: 0")
    alloc = put(
        client_status=ClientStatus.PENDING,
        task_states={"init": TaskState(state="dead", events=(ended,))},
    )
    assert browser.get(f"/allocations/{alloc.id}/").context["strong"] == "Starting."


@pytest.mark.parametrize(
    ("client_status", "told"),
    [
        pytest.param(ClientStatus.RUNNING, "is being moved", id="while-it-stops"),
        pytest.param(ClientStatus.COMPLETE, "was moved", id="once-it-has"),
    ],
)
def test_a_stopped_allocation_is_not_said_to_be_moving(client_status, told):
    alloc = make_allocation(
        desired_status=DesiredStatus.STOP,
        desired_description="alloc is being migrated",
        client_status=client_status,
    )
    assert note_of(alloc) == told


def test_every_reason_to_stop_has_words_for_now_and_then():
    said = {value for name, value in vars(reasons).items() if name.isupper()}
    stops = {text for text in said if text.startswith("alloc ")} - {
        reasons.RECONNECTED, reasons.UNKNOWN,
    }  # fmt: skip
    for text in stops:
        now, then = (
            stop_words(
                make_allocation(
                    desired_status=DesiredStatus.STOP, desired_description=text,
                    client_status=status,
                )
            )
            for status in (ClientStatus.RUNNING, ClientStatus.COMPLETE)
        )  # fmt: skip
        assert text not in (now, then)
        assert now != then


def test_another_namespace_is_404(guest, put):
    alloc = put(namespace="other")
    assert guest.get(f"/allocations/{alloc.id}/").status == 404
    assert guest.get(f"/allocations/{alloc.id}/logs", task="web").status == 404


def test_output_comes_from_the_agent_as_plain_text(browser, put, connect):
    agent = connect(Agent(b"<script>", b"two\n"))
    alloc = put()
    answer = browser.get(f"/allocations/{alloc.id}/logs", task="web", type="stderr")
    assert (answer.status, answer.text) == (200, "<script>two\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert agent.calls == [
        (
            alloc.node_id,
            "logs",
            {
                "AllocID": alloc.id,
                "Task": "web",
                "Type": "stderr",
                "Follow": True,
                "Plain": True,
                "Origin": "end",
                "Offset": 50_000,
            },
        )
    ]


def test_output_that_is_not_there_yet_is_no_error(browser, put, connect):
    connect(Agent(refusal=AgentRefused(404, "not started yet")))
    answer = browser.get(f"/allocations/{put().id}/logs", task="web")
    assert (answer.status, answer.text) == (202, "waiting: not started yet")
    assert answer.headers["Retry-After"]


def test_a_task_that_ran_and_left_no_output_is_not_waited_for(browser, put, connect):
    connect(Agent(refusal=AgentRefused(404, 'task "web" not started yet. No logs available')))
    alloc = put(task_states={"web": TaskState(started_at=SOME_MOMENT)})
    answer = browser.get(f"/allocations/{alloc.id}/logs", task="web")
    assert (answer.status, answer.text) == (202, "no output is kept of this task")
    assert "Retry-After" not in answer.headers


def test_output_of_a_collected_allocation_is_not_asked_for_again(browser, put):
    answer = browser.get("/allocations/gone/logs", task="web")
    assert (answer.status, "Retry-After" in answer.headers) == (404, False)


@pytest.mark.parametrize("ended", [pytest.param(True, id="ended"), pytest.param(False, id="runs")])
def test_what_has_ended_offers_no_restart_and_no_stop(browser, put, store, ended):
    alloc = put(
        client_status=ClientStatus.FAILED if ended else ClientStatus.RUNNING,
        task_states={"web": TaskState(state="dead" if ended else "running")},
    )
    text = browser.get(f"/allocations/{alloc.id}/").text
    assert ('data-confirm="restart-alloc"' in text) is not ended
    assert (f'href="/allocations/{alloc.id}/terminal/"' in text) is not ended
    # A page that was open before loses its buttons and its terminal, and keeps its files.
    told = followed(store, alloc)
    assert ('data-confirm="restart-alloc"' in told["alloc-actions"]) is not ended
    assert ("To the terminal" in told["alloc-terminal"]) is not ended
    assert ("hidden" in told["alloc-terminal"].partition(">")[0]) is ended
    assert ('href="#alloc-terminal"' in told["alloc-tabs"]) is not ended
    assert 'href="#files-title"' in told["alloc-tabs"]


def followed(store, alloc):
    """The panels of an open page, by their places."""
    feed = feed_for(Subscription("allocation", alloc.id, None, frozenset(ACTIONS)))
    pieces = store.read(lambda reader: feed.everything(reader, SOME_MOMENT))
    return {piece.target: piece.html for piece in pieces}


@pytest.mark.parametrize(
    ("health", "is_canary"),
    [
        pytest.param(DeploymentHealth(canary=True), True, id="canary"),
        pytest.param(DeploymentHealth(canary=True, healthy=True), True, id="healthy"),
        pytest.param(DeploymentHealth(healthy=True), False, id="promoted"),
        pytest.param(None, False, id="no-rollout"),
    ],
)
def test_a_canary_says_that_it_is_one_until_it_is_promoted(browser, put, health, is_canary):
    alloc = put(
        job_version=3, deployment_status=health,
        task_states={"web": TaskState(state="running", restarts=1)},
    )  # fmt: skip
    answer = browser.get(f"/allocations/{alloc.id}/")
    told = "A canary of v3. Restarted once." if is_canary else "Restarted once."
    assert answer.context["rest"] == told
    head = answer.text.partition("<main")[2].partition("</h1>")[0]
    assert ('data-state="canary"' in head) is is_canary


def test_a_canary_that_has_ended_is_none_any_more(browser, put):
    alloc = put(
        client_status=ClientStatus.COMPLETE, deployment_status=DeploymentHealth(canary=True)
    )
    page = browser.get(f"/allocations/{alloc.id}/").text.partition("<main")[2]
    assert 'data-state="canary"' not in page


def test_the_head_says_since_when_it_runs_and_how_often_it_was_restarted(browser, put):
    states = {
        "late": TaskState(state="running", started_at=SOME_MOMENT + 9, restarts=2),
        "early": TaskState(state="running", started_at=SOME_MOMENT, restarts=1),
    }
    context = browser.get(f"/allocations/{put(task_states=states).id}/").context
    assert (context["started_at"], context["restarts"]) == (SOME_MOMENT, 3)
    pending = browser.get(f"/allocations/{put().id}/")
    assert pending.context["started_at"] == 0
    assert "<dt> started</dt>" not in pending.text.replace("<dt>started", "<dt> started")


def test_the_facts_lead_to_its_story_and_its_rollout_and_tell_its_score(browser, put, store, node):
    score = NodeScore(node_id=node.id, scores={"binpack": -0.5}, norm_score=-0.54)
    story = Story(id="s", namespace="default", kind=StoryKind.ROLLOUT, job_id="web", job_version=1)
    placed = make_evaluation(1, job_id="web", story_id="s")

    def fill(change):
        change.put(STORIES, story)
        put_found(change, placed)

    store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)
    alloc = put(
        eval_id=placed.id, deployment_id="d", metrics=AllocMetric(score_meta_data=(score,))
    )
    facts = browser.get(f"/allocations/{alloc.id}/").text.partition('id="alloc-facts"')[2]
    assert '<a href="/stories/s/">Rollout of web v1</a>' in facts
    assert "<dt>Score</dt><dd>\N{MINUS SIGN}0.54</dd>" in facts
    assert 'href="/deployments/d/"' in facts
    plain = browser.get(f"/allocations/{put(eval_id='gone').id}/").text.partition(
        'id="alloc-facts"'
    )[2]
    for word in ("Score", "Story", "Rollout"):
        assert f"<dt>{word}" not in plain.partition("</section>")[0]


def test_an_open_page_keeps_its_buttons_and_follows_who_decided_last(browser, put, store, ids):
    alloc = put()
    later = replace(alloc, eval_id=ids.next_id(), job_version=7)
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, later), now=SOME_MOMENT)
    told = followed(store, alloc)
    assert 'data-confirm="restart-alloc"' in told["alloc-actions"]
    assert later.eval_id in told["alloc-facts"]
    assert "<dd>7</dd>" in told["alloc-facts"]
    assert later.eval_id in told["alloc-why"]


def test_a_lost_allocation_says_why_and_not_what_its_node_said_last():
    lost = make_allocation(
        client_status=ClientStatus.LOST,
        client_description="Tasks are running",
        desired_description="its node is down",
    )
    assert note_of(lost) == "its node is down"


def test_output_of_a_node_out_of_reach_says_so(browser, put):
    answer = browser.get(f"/allocations/{put().id}/logs", task="web")
    assert (answer.status, answer.text) == (202, "waiting: No path to node")


def test_restart_asks_the_agent(browser, put, connect):
    agent = connect(Agent(b"{}"))
    alloc = put()
    answer = browser.post("/allocations/restart/", allocation=alloc.id, task="web")
    assert answer.headers["Location"] == f"/allocations/{alloc.id}/"
    body = {"AllocID": alloc.id, "TaskName": "web", "AllTasks": False}
    assert agent.calls == [(alloc.node_id, "restart", body)]


def test_a_restart_that_fails_says_why(browser, put):
    alloc = put()
    browser.post("/allocations/restart/", allocation=alloc.id)
    assert "Not restarted: No path to node." in words(browser.get(f"/allocations/{alloc.id}/"))


def test_stop_leads_to_the_evaluation_that_replaces_it(browser, put, store):
    alloc = put()
    answer = browser.post("/allocations/stop/", allocation=alloc.id)
    evaluation = store.read(lambda reader: reader.evaluations_by_job(alloc.job_key))[-1]
    assert answer.headers["Location"] == f"/evaluations/{evaluation.id}/"
    assert evaluation.triggered_by == "alloc-stop"


def test_an_allocation_on_a_simulated_node_is_said_to_be_pretended(browser, store, put):
    real, pretended = put(), make_node(3, attributes={SIMULATED: "true"})
    store.write(
        WriteKind.NODE_REGISTRATION,
        lambda change: put_found(change, pretended),
        now=SOME_MOMENT,
    )
    shown = put(node_id=pretended.id)
    told = "simulated: only pretended"
    assert told in words(browser.get(f"/allocations/{shown.id}/"))
    assert told not in words(browser.get(f"/allocations/{real.id}/"))


def test_output_is_downloaded_whole(put, browser, connect):
    alloc = put()
    agent = connect(Agent(b"one\n", b"two\n"))
    answer = browser.get(f"/allocations/{alloc.id}/logs", task="web", type="stderr", download="")
    assert answer.text == "one\ntwo\n"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="web.stderr.log"'
    body = agent.calls[0][2]
    assert (body["Origin"], body["Offset"], body["Follow"]) == ("start", 0, False)


def test_output_is_searched_without_scripts(put, browser, connect):
    alloc = put()
    connect(Agent(b"20:01:00 ok\n20:02:00 <b>retry</b>\n"))
    answer = browser.get(f"/allocations/{alloc.id}/output/", task="web", find="RETRY")
    assert "1 line holds it, in all that is kept" in answer.text
    assert "&lt;b&gt;<mark>retry</mark>&lt;/b&gt;" in answer.text


def test_a_page_of_output_says_why_there_is_none(put, browser):
    answer = browser.get(f"/allocations/{put().id}/output/", task="web")
    assert "There is none to be had: No path to node." in words(answer)
