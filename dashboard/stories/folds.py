"""Stories of a list that are alike, folded into one line with their number.

In: lines in the order of the list. Out: lines and folds in that order, a fold where its newest
stands. What runs, failed, or is looked for by itself (a rollout, a drain, the loss of several
nodes) is never folded. Changes of several nodes within a minute are alike as well.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext, gettext_noop

from dashboard.labels import label_for
from dashboard.stories.names import KINDS, KindWord
from dashboard.stories.rows import StoryLine
from dashboard.wording import number
from scheduler.structs.story import Story, StoryKind

#: From so many on alike ones are folded.
FOLD_FROM = 3
#: Of a fold so many are told, each for itself; the rest is a list of its own.
MOST_TOLD = 30
#: How several of a kind are called; other kinds are not folded.
_SEVERAL = {
    StoryKind.LAUNCH: gettext_noop("launches of"),
    StoryKind.DISPATCH: gettext_noop("dispatches of"),
    StoryKind.SCALING: gettext_noop("scalings of"),
    StoryKind.STOP: gettext_noop("stops of"),
    StoryKind.CRASH_LOOP: gettext_noop("crash loops of"),
    StoryKind.PREEMPTION: gettext_noop("preemptions by"),
    StoryKind.EVALUATION: gettext_noop("evaluations of"),
    StoryKind.COLLECTION: gettext_noop("collections of what is over"),
    StoryKind.NODE_CHANGE: gettext_noop("changes of"),
}
#: Of how all of them stand, where the word of the label alone does not say it.
_ALL = {
    "done": gettext_noop("All are done"),
    "quiet": gettext_noop("None had anything to do"),
    "canceled": gettext_noop("All were canceled"),
}
_FLAPS = frozenset({StoryKind.LOSS, StoryKind.RETURN})
_NEEDS = ("failed", "blocked")
_MINUTE = 60_000_000_000


class StoryFold(msgspec.Struct, frozen=True, kw_only=True):
    """Several alike ones as a row of the list."""

    #: Names it on the page, whatever joins it.
    key: str
    title: str
    kind: KindWord
    told: str
    #: Newest first.
    lines: tuple[StoryLine, ...]
    #: Where they stand in a list, each for itself.
    query: tuple[tuple[str, str], ...]

    @property
    def first(self) -> StoryLine:
        """The one that began last: of alike ones it says what all are."""
        return self.lines[0]

    @property
    def oldest(self) -> StoryLine:
        """The one that began first."""
        return self.lines[-1]

    @property
    def evaluations(self) -> int:
        """Of all of them."""
        return sum(line.facts.evaluations for line in self.lines)

    @property
    def shown(self) -> tuple[StoryLine, ...]:
        """Those that are told each for itself."""
        return self.lines[:MOST_TOLD]

    @property
    def hidden(self) -> int:
        """How many are not."""
        return max(len(self.lines) - MOST_TOLD, 0)


#: What one line of the list is.
Row = StoryLine | StoryFold


def folded(lines: Iterable[StoryLine], most: int) -> tuple[list[Row], int]:
    """At most `most` rows, newest first, and how many stories they stand for."""
    lines = tuple(lines)
    storms = _storms(lines)
    groups: dict[tuple[Any, ...], list[StoryLine]] = {}
    taken = rows = 0
    for line in lines:
        key = _likeness(line, storms) or ("alone", line.story.id)
        # Two alike ones are two rows, three of them one.
        more = {0: 1, 1: 1, 2: -1}.get(len(groups.get(key, ())), 0)
        if rows + more > most:
            break
        rows += more
        taken += 1
        groups.setdefault(key, []).append(line)
    told: list[Row] = []
    for members in groups.values():
        told += [_fold(members)] if len(members) >= FOLD_FROM else members
    return sorted(told, key=_place, reverse=True), taken


def _place(row: Row) -> tuple[int, str]:
    story = row.first.story if isinstance(row, StoryFold) else row.story
    return story.create_index, story.id


def _storms(lines: Iterable[StoryLine]) -> frozenset[int]:
    """Minutes in which so many nodes changed that they are told together."""
    nodes: dict[int, set[tuple[str, ...]]] = {}
    for line in lines:
        if line.story.kind is StoryKind.NODE_CHANGE:
            nodes.setdefault(_minute(line.story), set()).add(line.story.node_ids)
    return frozenset(minute for minute, changed in nodes.items() if len(changed) >= FOLD_FROM)


def _minute(story: Story) -> int:
    return story.create_time // _MINUTE


def _likeness(line: StoryLine, storms: Collection[int]) -> tuple[Any, ...]:
    """What alike ones have in common; empty for one that is told by itself."""
    story = line.story
    if story.kind in _FLAPS and max(story.node_count, len(story.node_ids)) == 1:
        return ("flaps", story.node_ids)
    if story.kind not in _SEVERAL or line.is_running or line.tone in _NEEDS:
        return ()
    if story.kind is StoryKind.NODE_CHANGE and _minute(story) in storms:
        return ("storm", _minute(story), line.standing)
    return (story.kind, *_subject(story), story.actor, line.standing)


def _subject(story: Story) -> tuple[Any, ...]:
    if story.kind is StoryKind.NODE_CHANGE:
        return story.node_ids
    # A launched or dispatched job is one of its parent's.
    return story.namespace, story.parent_job_id or story.job_id


def _fold(members: Sequence[StoryLine]) -> StoryFold:
    first = members[0]
    story = first.story
    kinds = Counter(line.story.kind for line in members)
    is_flapping = story.kind in _FLAPS
    is_storm = (
        story.kind is StoryKind.NODE_CHANGE and len({line.story.node_ids for line in members}) > 1
    )
    name = first.title.linked if is_flapping or story.kind is StoryKind.NODE_CHANGE else ""
    of = name or story.parent_job_id or story.job_id
    count = number(len(members))
    if is_flapping:
        title = gettext("{count} stories of {of}, which comes and goes").format(count=count, of=of)
        times = {kind: number(kinds[kind]) for kind in kinds}
        told = ", ".join(
            gettext("{word} {times} times").format(word=word, times=times[kind])
            for kind, word in ((StoryKind.LOSS, "lost"), (StoryKind.RETURN, "back"))
            if kind in times
        )
        told = f"{told[0].upper()}{told[1:]}"
    elif is_storm:
        nodes = number(len({line.story.node_ids for line in members}))
        title = gettext("{nodes} nodes changed within a minute").format(nodes=nodes)
        told = _all_told(first.standing)
    else:
        by_hand = story.kind is StoryKind.EVALUATION and not of
        words = gettext("evaluations by hand") if by_hand else gettext(_SEVERAL[story.kind])
        title = f"{count} {words} {of}".strip()
        told = _all_told(first.standing)
    return StoryFold(
        key=f"fold-{members[-1].story.id}",
        title=title,
        kind=KINDS[story.kind],
        told=told,
        lines=tuple(members),
        query=((("kind", story.kind.value), ("each", "1")) if is_storm else _query(story)),
    )


def _all_told(standing: str) -> str:
    """How all of them stand."""
    if standing in _ALL:
        return gettext(_ALL[standing])
    return gettext("All {word}").format(word=gettext(label_for("story", standing).word))


def _query(story: Story) -> tuple[tuple[str, str], ...]:
    if story.kind in _FLAPS or story.kind is StoryKind.NODE_CHANGE:
        return (("node", story.node_ids[0] if story.node_ids else ""), ("each", "1"))
    job = story.parent_job_id or story.job_id
    return (
        ("kind", story.kind.value),
        ("job", f"{story.namespace}/{job}" if job else ""),
        ("who", story.actor),
    )
