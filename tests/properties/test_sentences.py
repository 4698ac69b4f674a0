"""Whatever has happened, no sentence contradicts the facts that it speaks of.

Random histories are lived through by the simulator; after each act every sentence of outcomes,
overview and queries is rendered and held against the record.
"""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import OperationRefused
from dashboard.outcomes import outcome_of, short_outcome, told_of
from dashboard.overview import Overview
from dashboard.queries import (
    allocation,
    chain,
    drains,
    evaluation,
    job,
    jobs,
    nodes,
)
from dashboard.queries.evaluation import head_panel
from dashboard.queries.list_kinds import KINDS
from dashboard.queries.lists import ListPage, read_list
from dashboard.queries.navigation import navigation
from dashboard.queries.overview import overview_parts
from dashboard.queries.search import search
from dashboard.queries.submission import Review, review
from dashboard.subscription import Subscription
from dashboard.viewer import Viewer
from dashboard.wording import NARROW_SPACE
from scheduler.state import nouns
from scheduler.structs.allocation import Allocation
from scheduler.structs.evaluation import EvalStatus, Evaluation
from scheduler.structs.job import Job
from scheduler.structs.node import LOST, Node, NodeStatus
from tests.builders import CountingIDs
from tests.callers import MANAGER
from tests.properties.histories import JOBS, History, histories
from tests.properties.states_told import told_of_states

_NUMBER = rf"(\d[\d{NARROW_SPACE}]*)"
_SHARE = re.compile(rf"\b{_NUMBER} of {_NUMBER}\b")
_COUNT = re.compile(rf"\b{_NUMBER}\b")
#: Where the first clause says that there is nothing, the rest may not count anything.
_NOTHING = re.compile(r"^(nothing|no )", re.IGNORECASE)


def contradictions(text: str) -> list[str]:
    """What a text says against itself: more than there are of it, something beside nothing."""
    found = [
        f"{part} of {whole}"
        for part, whole in _SHARE.findall(text)
        if _value(part) > _value(whole)
    ]
    first = re.split(r"[.:]", text, maxsplit=1)[0]
    if _NOTHING.search(first) and any(_value(count) for count in _COUNT.findall(text)):
        found.append("something beside nothing")
    return found


def _value(text: str) -> int:
    return int(text.replace(NARROW_SPACE, ""))


@pytest.mark.parametrize(
    ("text", "is_caught"),
    [
        pytest.param("Placed 6 of 2", True, id="more-than-its-total"),
        pytest.param(f"1{NARROW_SPACE}200 of 1{NARROW_SPACE}199 healthy", True, id="thousands"),
        pytest.param("Nothing would change. 5 canaries", True, id="something-beside-nothing"),
        pytest.param("No node drains now. 2 nodes", True, id="none-beside-two"),
        pytest.param("2 of 2 running", False, id="all"),
        pytest.param("Nothing would change.", False, id="nothing"),
        pytest.param("3 of other jobs preempted", False, id="no-share"),
    ],
)
def test_a_contradiction_is_caught(text: str, is_caught: bool) -> None:
    assert bool(contradictions(text)) is is_caught


#: A system allocation on a node that falls silent: it is given up by the next run.
SILENT = [("submit", 11), ("lose", 3), ("stop_one", 6), ("submit", 3), ("run", 3), ("lose", 1)]


@settings(max_examples=25)
@example(SILENT)
@given(histories)
def test_no_sentence_contradicts_its_facts(acts: list[tuple[str, int]]) -> None:
    history = History()
    teller = Teller(history)
    for act in acts:
        history.live(act)
        teller.check()


class Teller:
    """Every sentence of the pages, with what it must agree with; one open page *Now*."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.record = history.record
        self.followed = Overview(None)
        self.followed.load(self.record)
        self.index = self.record.index
        #: By evaluation, the allocations it made: who changes one later writes its own id there.
        self.made: dict[str, list[Allocation]] = {}
        self.were_lost: set[str] = set()

    def check(self) -> None:
        self.follow()
        texts = [*self.sentences()]
        wrong = {where: found for where, text in texts if (found := contradictions(text))}
        assert wrong == {}, {where: dict(texts)[where] for where in wrong}

    def follow(self) -> None:
        for frame in self.record.frames_since(self.index):
            for event in frame.events:
                self.followed.take(event, frame.index)
                value = event.value
                if isinstance(value, Node) and value.status in _GONE:
                    self.were_lost.add(value.id)
                if isinstance(value, Allocation) and value.create_index == frame.index:
                    self.made.setdefault(value.eval_id, []).append(value)
            self.index = frame.index
        if self.followed.misses_something:
            self.followed.read_missing(self.record)

    def sentences(self) -> Iterator[tuple[str, str]]:
        yield from self.evaluations()
        yield from self.overview()
        yield from self.jobs()
        yield from self.allocations()
        yield from self.nodes()
        yield from self.drains()
        yield from self.plans()
        yield from self.chains()
        yield from self.decisions()
        yield from self.listed()
        yield from self.found()
        yield from told_of_states(self.history, self.were_lost)

    # Evaluations.

    def evaluations(self) -> Iterator[tuple[str, str]]:
        for item in self.record.evaluations():
            placed = [
                alloc
                for alloc in self.record.allocations_by_eval(item.id)
                if alloc.create_index >= item.create_index
            ]
            outcome = outcome_of(item, placed)
            where = f"evaluation {item.id[-4:]} of {item.job_id}"
            yield where, f"{outcome.strong} {outcome.rest}"
            yield f"{where}, short", short_outcome(item)
            yield from ((f"{where}, {step}", told) for step, told in told_of(item).items())
            self.agree_with_placements(item, self.made.get(item.id, []), outcome.strong)
            head = head_panel(self.record, followed("evaluation", item.id), self.history.now)
            assert head["outcome"] == outcome

    def agree_with_placements(self, item: Evaluation, made: list[Allocation], strong: str) -> None:
        """`2 of 3 placed, 1 replaced` names as many as the evaluation made."""
        if item.status is not EvalStatus.COMPLETE:
            return
        if "nothing had to change" in strong:
            assert not made, (item, made)
            assert not sum(item.queued_allocations.values()), item
        if "step by step" in strong:
            return
        told = re.findall(rf"{_NUMBER}(?: of {_NUMBER})? (?:placed|replaced|moved)\b", strong)
        assert sum(_value(done) for done, _ in told) == len(made), (strong, len(made), item)

    # The first page.

    def overview(self) -> Iterator[tuple[str, str]]:
        now = self.history.now
        fresh = Overview(None)
        fresh.load(self.record)
        parts = overview_parts(fresh, None, now)
        lived = overview_parts(self.followed, None, now)
        assert self.followed.figures(now) == fresh.figures(now)
        for part in ("strong", "rest", "needs", "needs_count", "waiting", "counts"):
            assert lived[part] == parts[part], part
        yield "now", f"{parts['strong']} {parts['rest']}"
        yield from (
            (f"need {need.strong}", f"{need.strong} {need.text}") for need in parts["needs"]
        )
        yield from (
            (f"waits {item.evaluation.id}", f"{item.strong} {item.reason}")
            for item in parts["waiting"]
        )
        self.agree_with_needs(fresh, f"{parts['strong']} {parts['rest']}")
        texts = navigation(self.record, None, sees_nodes=True)
        assert texts["Jobs"]["text"] == str(len(list(self.record.jobs())))
        lost = sum(node.status in LOST for node in self.record.nodes())
        waiting = sum(map(_waits, self.deployments()))
        told = f"{waiting} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
        assert texts["Deployments"]["text"] == told
        assert texts["Nodes lost"]["text"] == (f"{lost} lost" if lost else "")

    def agree_with_needs(self, overview: Overview, sentence: str) -> None:
        needs = overview.needs(self.history.now)
        icons = [need.icon for need in needs]
        blocked = self.statuses().count("blocked")
        lost = [node for node in self.record.nodes() if node.status is NodeStatus.DOWN]
        waiting = [item for item in self.deployments() if _waits(item)]
        assert ("blocked" in icons) == bool(blocked)
        assert ("lost" in icons) == bool(lost)
        assert ("canary" in icons) == bool(waiting)
        silent = [node for node in self.record.nodes() if node.status is NodeStatus.DISCONNECTED]
        assert any("silent" in need.strong for need in needs) == bool(silent)
        if lost:
            assert icons[0] == "lost"
        if needs:
            assert sentence.startswith(needs[0].strong)
        if "All is quiet" in sentence:
            assert not needs
            assert not {"pending", "blocked"} & {*self.statuses()}
        if "Nothing is blocked" in sentence:
            assert not blocked

    def statuses(self) -> list[str]:
        return [item.status.value for item in self.record.evaluations()]

    def deployments(self) -> list[object]:
        found = self.record.list_all(nouns.DEPLOYMENTS)
        return [item for item in found if item.status.value == "running"]

    # Jobs.

    def jobs(self) -> Iterator[tuple[str, str]]:
        for line in jobs.job_lines(self.record, [*self.record.jobs()]):
            where = f"job {line.job.id}"
            told = job.standing_panel(self.record, self.followed_job(line.job), self.history.now)
            yield where, f"{told['strong']} {told['rest']}"
            yield from ((f"{where}, counts", _count_words(row)) for row in line.counts.named)
            assert told["standing"] == line.status
            self.agree_with_allocations(line.job, told)
            rollout = told["rollout"]
            for group in rollout.groups if rollout else ():
                yield f"{where}, placed", group.placed
                yield f"{where}, healthy", group.healthy
                yield f"{where}, canaries", group.canaries
            if rollout:
                yield f"{where}, rollout", rollout.sentence

    def agree_with_allocations(self, of: Job, told: dict[str, object]) -> None:
        own = [alloc for alloc in self.record.allocations() if alloc.job_id == of.id]
        running = sum(alloc.client_status.value == "running" for alloc in own)
        failed = sum(alloc.client_status.value == "failed" for alloc in own)
        counts = told["counts"]
        assert (counts.running, counts.failed) == (running, failed)
        if told["standing"] == "running" and counts.wanted:
            assert running or counts.complete, told
        if told["standing"] == "failing":
            assert failed
            assert running + counts.complete < counts.wanted
        share = re.match(rf"{_NUMBER} of {_NUMBER} running", str(told["strong"]))
        if share:
            wanted = sum(group.count for group in of.task_groups)
            assert [_value(part) for part in share.groups()] == [min(running, wanted), wanted]

    def followed_job(self, of: Job) -> Subscription:
        return followed("job", f"{of.namespace}/{of.id}")

    # Allocations.

    def allocations(self) -> Iterator[tuple[str, str]]:
        for alloc in self.record.allocations():
            subscription = followed("allocation", alloc.id)
            told = allocation.allocation_panel(self.record, subscription, self.history.now)
            text = f"{told['strong']} {told['rest']}"
            yield f"allocation {alloc.name} {alloc.id[-4:]}", text
            has_events = any(state.events for state in alloc.task_states.values())
            if "has not started" in text:
                assert not has_events
            if "being moved" in text or told["state"] == "stopping":
                assert not alloc.is_client_terminal, (text, alloc)
            if "started again" in text:
                assert has_events
                assert not alloc.is_terminal

    # Nodes and drains.

    def nodes(self) -> Iterator[tuple[str, str]]:
        faces = self.record.node_faces()
        text = self.list_of("nodes").sentence
        yield "nodes", text
        counts = [_value(count) for count in _COUNT.findall(text)]
        ready, total, *others = counts
        assert ready + sum(others) == total == len(faces)
        for node in self.record.nodes():
            told = nodes.node_parts(self.record, node.id, None)
            assert told is not None
            yield f"node {node.name}", told["strong"]
            here = self.record.allocations_by_node(node.id)
            assert told["count"] == sum(not alloc.is_terminal for alloc in here)

    def drains(self) -> Iterator[tuple[str, str]]:
        draining = [node for node in self.record.nodes() if node.drain_strategy is not None]
        parts = drains.drains_parts(self.record, self.history.now)
        yield "drains", parts["strong"]
        assert len(parts["running"]) == len(draining)
        assert parts["strong"].startswith("No node") is not bool(draining)
        blocked = {
            item.job_key for item in self.record.evaluations() if item.status.value == "blocked"
        }
        for node in self.record.nodes():
            board = drains.drain_parts(self.record, node.id, None, self.history.now)
            assert board is not None
            yield f"drain of {node.name}", f"{board['strong']} {board['rest']}"
            for column in board["columns"]:
                for card in column["cards"]:
                    yield f"card {card.alloc.name}", f"{card.strong} {card.text}"
                    assert ("held up" not in card.strong) or card.alloc.job_key in blocked
            assert board["drained"] <= board["to_drain"]
            assert board["replaced"] + board["replaced_soon"] <= board["to_replace"]

    # Plans.

    def plans(self) -> Iterator[tuple[str, str]]:
        for name in JOBS:
            for count in (2, 5):
                planned = self.planned(name, count)
                if planned is None:
                    continue
                text = f"{planned.strong} {planned.rest}"
                yield f"plan of {name}, {count}", text
                self.agree_with_plan(planned, text)

    def planned(self, name: str, count: int) -> Review | None:
        asked = parse_job(self.history.document(name, count))
        try:
            return review(
                self.record.snapshot(), asked, by=MANAGER, now=self.history.now,
                ids=CountingIDs(prefix="c"),
            )  # fmt: skip
        except OperationRefused:
            return None

    def agree_with_plan(self, planned: Review, text: str) -> None:
        changes = [change for group in planned.groups for change in group.changes]
        made = sum(count for kind, count in changes if kind in _MAKES)
        assert made == planned.placed, (text, changes, planned.placed)
        for kind, count in changes:
            assert kind == "ignore" or re.search(rf"\b{count}\b", text), (kind, count, text)
        if text.startswith("Nothing would change"):
            assert planned.is_unchanged
            assert not planned.placements
            assert not planned.stops

    # Chains of evaluations.

    def chains(self) -> Iterator[tuple[str, str]]:
        for item in self.record.evaluations():
            told = chain.chain_panel(self.record, followed("chain", item.id), self.history.now)
            where = f"chain of {item.id[-4:]}"
            yield where, f"{told['strong']} {told['rest']}"
            members = told["rows"]
            total, of_jobs = (_value(count) for count in _COUNT.findall(told["strong"]))
            assert total == len(members) + told["hidden"]
            assert of_jobs == len({row["evaluation"].job_key for row in members})
            states = Counter(row["state"] for row in members)
            counted = re.findall(rf"{_NUMBER} ([a-z-]+)", told["rest"])
            assert {state: _value(count) for count, state in counted} == states
            assert sum(row["is_selected"] for row in members) == 1
            for row in members:
                yield f"{where}, {row['evaluation'].id[-4:]}", f"{row['event']}. {row['told']}"
            if told["ended"]:
                assert not any(row["state"] in {"pending", "blocked"} for row in members)

    # What an evaluation decided.

    def decisions(self) -> Iterator[tuple[str, str]]:
        for item in self.record.evaluations():
            panel = followed("evaluation", item.id)
            told = evaluation.decision_panel(self.record, panel, self.history.now)
            where = f"decision {item.id[-4:]}"
            yield where, f"{told['outcome'].strong} {told['outcome'].rest}"
            assert told["outcome"] == outcome_of(item, self.placed_by(item))
            assert len(told["placed"]) + told["more_placed"] == told["placed_count"]
            assert told["placed_count"] == len(self.placed_by(item))
            assert [each.title for each in told["waiting"]] == [*item.failed_task_groups]
            for each in (*told["waiting"], *told["placed"], *told["explained"]):
                if each.view is not None:
                    yield f"{where}, {each.title}", each.view.sentence
            for group, plan in told["updates"]:
                yield f"{where}, plan of {group}", plan
                assert plan != "nothing to change" or not self.made.get(item.id)

    def placed_by(self, item: Evaluation) -> list[Allocation]:
        held = self.record.allocations_by_eval(item.id)
        return [alloc for alloc in held if alloc.create_index >= item.create_index]

    # Lists and searches.

    def list_of(self, name: str) -> ListPage:
        kind = KINDS[name]
        return read_list(self.record, kind, kind.wish({}), None, self.history.now)

    def listed(self) -> Iterator[tuple[str, str]]:
        page = self.list_of("evaluations")
        yield "evaluations", page.sentence
        yield "evaluations, shown", page.told
        stored = Counter(self.statuses())
        assert page.sentence.startswith(f"{sum(stored.values())} evaluation")
        counts = {choice.word: choice.text for choice in page.facets[0].choices}
        for state in ("blocked", "complete", "failed"):
            assert counts[state] == (str(stored[state]) if stored[state] else "")
        for row in page.contexts:
            yield f"row of {row['evaluation'].id[-4:]}", row["outcome"]
            if row["evaluation"].is_terminal:
                assert row["state"] == row["evaluation"].status.value

    def found(self) -> Iterator[tuple[str, str]]:
        viewer = Viewer(name="kim", now=self.history.now, caller=MANAGER, namespaces=None)
        for item in self.record.jobs():
            kinds = {each.word: each for each in search(self.record, viewer, item.id)}
            states = {hit.title: hit.status for hit in kinds["Jobs"].hits}
            (line,) = [
                line for line in jobs.job_lines(self.record, [item]) if line.job.id == item.id
            ]
            yield f"search for {item.id}", " ".join(hit.note for hit in kinds["Jobs"].hits)
            assert states[item.id] == line.status


_GONE = LOST | {NodeStatus.DISCONNECTED}
_MAKES = ("place", "canary", "replace", "migrate")


def followed(kind: str, key: str) -> Subscription:
    return Subscription(kind, key, None)


def _waits(deployment: object) -> bool:
    return any(
        group.desired_canaries
        and not group.promoted
        and not group.auto_promote
        and len(group.placed_canaries) >= group.desired_canaries
        and group.healthy_allocs >= group.desired_canaries
        for group in deployment.task_groups.values()
    )


def _count_words(row: tuple[str, str, int, int]) -> str:
    _, word, count, wanted = row
    return f"{count} of {wanted} {word}" if wanted else f"{count} {word}"
