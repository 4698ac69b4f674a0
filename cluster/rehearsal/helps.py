"""What would help: single changes beside those that were asked, each rehearsed from the start.

In: a scenario, its ended rehearsal and result, whoever rehearses on the same record, a limit of
time. Out: the result with the changes that let more find a place, and of how many. What is worth a
rehearsal the real scheduler says, asked about the fullest moment of the first one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec.structs import asdict, replace

from cluster.operations.errors import NotFound
from cluster.operations.trial import TrialSnapshot
from cluster.operations.unblock import UnblockAnswer, try_changes
from cluster.operations.unblock_changes import ChangeWord, Guess, UnblockChange
from cluster.rehearsal.paces import CUT
from cluster.rehearsal.result import Rehearsed, RehearsedGroup, RehearsedHelp
from cluster.rehearsal.run import Rehearsal
from cluster.rehearsal.scenario import (
    AddNodes,
    ChangeQuota,
    EndDrain,
    MarkNodes,
    NodeChoice,
    RoomOnNode,
    RunJob,
    Scenario,
    ScenarioChange,
    ScenarioProblems,
)
from scheduler.ports import StateReader
from scheduler.state.nouns import QUOTAS
from scheduler.structs.explanation import AskedAmounts
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeEligibility

#: Groups that help is looked for, changes rehearsed for each, and of new nodes how many numbers.
_GROUPS, _CHANGES, _NUMBERS = 4, 4, 4
_MOST_NODES = 1_000

_GroupKey = tuple[str, str, str]


def with_helps(
    scenario: Scenario,
    result: Rehearsed,
    ended: Rehearsal,
    rehearse: Callable[[Scenario], Rehearsed],
    is_late: Callable[[], bool],
) -> Rehearsed:
    """The result with what would help those that wait; as it is where nobody does."""
    waiting = [group for group in result.groups if group.waits]
    if result.ending in CUT or not waiting:
        return result
    search = _Search(scenario, result, ended, rehearse, is_late)
    found: list[RehearsedHelp] = []
    looked = 0
    for group in waiting[:_GROUPS]:
        if is_late():
            break
        found += search.of_group(group)
        looked += 1
    order = list(ChangeWord)
    found.sort(key=lambda each: (-each.fits_in_all, order.index(each.change.change)))
    return replace(result, helps=tuple(found), groups_unhelped=len(waiting) - looked)


@dataclass
class _Search:
    scenario: Scenario
    result: Rehearsed
    ended: Rehearsal
    rehearse: Callable[[Scenario], Rehearsed]
    is_late: Callable[[], bool]
    #: What came of changes that say nothing of a job, for the next group.
    _known: dict[tuple[ChangeWord, str, int], Rehearsed | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reader: StateReader = self.ended.store
        self._now = self.ended.clock.now()

    def of_group(self, group: RehearsedGroup) -> Iterator[RehearsedHelp]:
        """What helps one group, of each kind of change one."""
        words: set[ChangeWord] = set()
        for answer, guess in self._guesses(group):
            word = answer.change.change
            if word in words or not self._may(answer.change):
                continue
            if self.is_late() or len(words) == _CHANGES:
                return
            words.add(word)
            found = self._confirmed(group, answer, guess)
            if found is not None:
                yield found

    def _guesses(self, group: RehearsedGroup) -> Sequence[tuple[UnblockAnswer, Guess]]:
        """What lets it be placed: where it was fullest, else at the end, where it still waits."""
        key = JobKey(group.namespace, group.job_id)
        for reader, now in self._moments():
            try:
                tried = try_changes(reader, key, group.task_group, now=now, is_late=self.is_late)
            except NotFound:
                continue
            if tried.answers:
                self._reader, self._now = reader, now
                return tried.answers
        return ()

    def _moments(self) -> Iterator[tuple[StateReader, int]]:
        if self.ended.fullest is not None:
            yield self.ended.fullest
        yield self.ended.store, self.ended.clock.now()

    def _may(self, change: UnblockChange) -> bool:
        """Whether a person could make it: nothing that takes back what was asked."""
        if change.change is ChangeWord.ADD_NODE:
            return True
        is_touched = change.node_id in self.ended.stage.fates
        return not is_touched and change.change is not ChangeWord.SCALE_DOWN

    def _confirmed(
        self, group: RehearsedGroup, answer: UnblockAnswer, guess: Guess
    ) -> RehearsedHelp | None:
        change = answer.change
        if change.change is ChangeWord.ADD_NODE:
            return self._with_nodes(group, change, answer.fits)
        extra, limit = self._made(group, guess)
        other = self._rehearsed(change, extra)
        return self._told(group, change, other, limit) if other else None

    def _with_nodes(
        self, group: RehearsedGroup, change: UnblockChange, fits: int
    ) -> RehearsedHelp | None:
        """As few new nodes as let all of the group find a place, as far as time allows.

        `fits` is how many one empty node takes: fewer nodes than it says cannot do.
        """
        best, count = None, -(-group.waits // fits)
        change = self._like_one_that_is(change)
        for _ in range(_NUMBERS):
            count = min(count, _MOST_NODES)
            asked = replace(change, count=count)
            other = self._rehearsed(asked, AddNodes(like=change.node_id, count=count))
            if other is None:
                break
            found = self._told(group, asked, other, AskedAmounts())
            best = found or best
            # Where it lets none of the group be placed, others took all of the new room.
            left = group.waits if found is None else found.waiting - found.fits
            if not left or count == _MOST_NODES or self.is_late():
                break
            count += -(-left // fits)
        return best

    def _like_one_that_is(self, change: UnblockChange) -> UnblockChange:
        """Nodes like one that the changes add are like the one that it is like."""
        model = self.ended.store.base.node(self.ended.stage.models.get(change.node_id, ""))
        if model is None:
            return change
        return replace(change, node_id=model.id, node_name=model.name)

    def _rehearsed(self, change: UnblockChange, extra: ScenarioChange) -> Rehearsed | None:
        """With one more change; None where that was refused, or time was over."""
        name = change.change, change.node_id, change.count
        is_of_node = bool(change.node_id) and change.change is not ChangeWord.FREE
        if is_of_node and name in self._known:
            return self._known[name]
        try:
            other = self.rehearse(Scenario(changes=(*self.scenario.changes, extra)))
        except ScenarioProblems:
            other = None
        if other is not None and other.ending in CUT:
            other = None
        if is_of_node:
            self._known[name] = other
        return other

    def _made(self, group: RehearsedGroup, guess: Guess) -> tuple[ScenarioChange, AskedAmounts]:
        """The change as a scenario makes it, and the limits that it sets."""
        change, none = guess.change, AskedAmounts()
        if change.change is ChangeWord.SET_ELIGIBLE:
            nodes = NodeChoice(node_ids=(change.node_id,))
            return MarkNodes(nodes=nodes, eligibility=NodeEligibility.ELIGIBLE), none
        if change.change is ChangeWord.CANCEL_DRAIN:
            return EndDrain(node_id=change.node_id), none
        trial = TrialSnapshot(self._reader, self._now)
        guess.put(trial)
        if change.change is ChangeWord.FREE:
            # As it is in the record, but for the room: what the scenario puts there is its own.
            larger, node = trial.node(change.node_id), self.ended.store.base.node(change.node_id)
            assert larger is not None, "it was put"
            assert node is not None, "what the scenario adds is left out"
            return RoomOnNode(node=replace(node, node_resources=larger.node_resources)), none
        if change.change is ChangeWord.RAISE_QUOTA:
            quota = trial.get(QUOTAS, change.quota)
            assert quota is not None, "it was put"
            limits = {name: int(value) for name, value in asdict(quota.limits).items()}
            more = change.amounts
            limit = AskedAmounts(
                cpu=limits["cpu"] if more.cpu else 0,
                memory_mb=limits["memory_mb"] if more.memory_mb else 0,
                disk_mb=limits["disk_mb"] if more.disk_mb else 0,
            )
            return ChangeQuota(name=quota.name, limits=limits), limit
        job = trial.job(JobKey(group.namespace, group.job_id))
        assert job is not None, "no change purges a job"
        return RunJob(job=job), none

    def _told(
        self,
        group: RehearsedGroup,
        change: UnblockChange,
        other: Rehearsed,
        limit: AskedAmounts,
    ) -> RehearsedHelp | None:
        """What it came to; None where it lets nobody find a place, or takes places of others."""
        before, after = _without(self.result), _without(other)
        waiting = group.waits + group.held
        fits = waiting - after.get(_key(group), 0)
        in_all = sum(before.values()), sum(before.values()) - sum(after.values())
        if fits <= 0 or in_all[1] <= 0:
            return None
        alloc = self.ended.store.allocation(change.alloc_id) if change.alloc_id else None
        return RehearsedHelp(
            namespace=group.namespace,
            job_id=group.job_id,
            task_group=group.task_group,
            change=change,
            fits=fits,
            waiting=waiting,
            fits_in_all=in_all[1],
            waiting_in_all=in_all[0],
            limit=limit,
            alloc_namespace=alloc.namespace if alloc is not None else "",
        )


def _without(result: Rehearsed) -> dict[_GroupKey, int]:
    """How many of each group find no place."""
    return {_key(group): group.waits + group.held for group in result.groups}


def _key(group: RehearsedGroup) -> _GroupKey:
    return group.namespace, group.job_id, group.task_group
