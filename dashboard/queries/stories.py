"""Stories in lists: their rows, alike ones folded; how many run; the newest of one thing.

In: a reader, stories. Out: contexts of rows for the list of stories, the head of its page, and the
strip of the page of a thing, in a number of reads that does not grow.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop, ngettext
from msgspec.structs import replace

from cluster.operations.story_rights import hidden_kinds, levels_of
from cluster.store.ports import ListedStory, Namespaces, RecordReader, StoryFilter
from dashboard.queries.list_kind import CLUSTER, Folded, RowContexts
from dashboard.queries.list_wish import ListWish, narrowed, space_of
from dashboard.stories.folds import Row, StoryFold, folded
from dashboard.stories.names import KINDS, KindWord, Title, title_of
from dashboard.stories.rows import StoryLine, lines_of
from dashboard.stories.told import HELD_UP, WAITS
from dashboard.subscription import Subscription
from dashboard.viewer import Viewer
from dashboard.wording import count_of, number
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.story import Story, StoryKind

PAGE_SIZE = 50
#: As many are looked through for alike ones, so that a page of them says much.
READ_TO_FOLD = 300
#: Of so many that run it is said whether they may need a person.
MOST_RANKED = 300
#: Of so many that run, those that may need a person are first on *Now*.
RANKED_FOR_A_STRIP = 60
#: What the page of a thing shows of its stories.
IN_A_STRIP = 4
#: The order in which those that run are first; what an address says besides: each in its own row.
OWN_ORDER, EACH = "state", "each"
_NEEDY = (HELD_UP, WAITS)
#: Within how long a story began, as its list can be narrowed.
WHEN = {
    "hour": gettext_noop("in the last hour"),
    "day": gettext_noop("in the last 24 hours"),
    "week": gettext_noop("in the last 7 days"),
}
_HOUR = 3_600_000_000_000
_LONG = {"hour": _HOUR, "day": 24 * _HOUR, "week": 7 * 24 * _HOUR}


def story_rows(
    reader: RecordReader, found: Sequence[Story], _now: int, namespaces: Namespaces
) -> RowContexts:
    """A row for each, told of the evaluations in these namespaces."""
    running = reader.running_stories() if found else frozenset[str]()
    listed = [ListedStory(story, story.id in running) for story in found]
    return {line.story.id: {"row": line} for line in lines_of(reader, listed, namespaces)}


def reads(wish: ListWish) -> int:
    """How many stories a page is made of."""
    return READ_TO_FOLD if _folds(wish) else PAGE_SIZE


def fold(rows: RowContexts, wish: ListWish) -> Folded:
    """In their own order those that run stand apart; alike ones that have ended are one row."""
    lines: list[StoryLine] = [row["row"] for row in rows.values()]
    if not _is_own_order(wish):
        return Folded(rows, len(lines))
    told: list[Row] = [*lines]
    taken = len(lines)
    if _folds(wish):
        told, taken = folded(lines, PAGE_SIZE)
    running = [each for each in told if isinstance(each, StoryLine) and each.is_running]
    ended = [each for each in told if isinstance(each, StoryFold) or not each.is_running]
    contexts: dict[str, Mapping[str, Any]] = {}
    if running:
        contexts["running"] = {"group": "running"}
        contexts |= {each.story.id: {"row": each} for each in sorted(running, key=_need)}
    if ended:
        contexts["ended"] = {"group": "ended"}
        contexts |= dict(_ended_row(each) for each in ended)
    return Folded(contexts, taken, _folded_told(told))


def _is_own_order(wish: ListWish) -> bool:
    return wish.sort in ("", f"-{OWN_ORDER}")


def _folds(wish: ListWish) -> bool:
    """Of one kind, or looked for by an expression, each is told for itself."""
    return _is_own_order(wish) and not (wish.of("kind") or wish.of(EACH) or wish.filter)


def _ended_row(row: Row) -> tuple[str, dict[str, Any]]:
    """A story, or several alike ones with where each has a row of its own."""
    if isinstance(row, StoryLine):
        return row.story.id, {"row": row}
    told = {"row": row.first, "fold": row, "each_url": f"/stories/?{urlencode(row.query)}"}
    return row.key, told


def _folded_told(rows: Sequence[Row]) -> str:
    folds = [row for row in rows if isinstance(row, StoryFold)]
    inside = sum(len(row.lines) for row in folds)
    return (
        gettext("{inside} folded into {row}").format(
            inside=number(inside), row=count_of(len(folds), "{count} row", "{count} rows")
        )
        if folds
        else ""
    )


def _need(line: StoryLine) -> tuple[bool, int]:
    return line.standing not in _NEEDY, -line.story.create_index


def of_job(text: str) -> dict[str, Any]:
    """What of a Listing a text asks for: `team/web`, or `web` in the namespace jobs have first."""
    namespace, has_namespace, job_id = text.partition("/")
    key = JobKey(namespace, job_id) if has_namespace else JobKey(DEFAULT_NAMESPACE, text)
    return {"of_job": key}


def began_within(word: str, now: int) -> dict[str, Any]:
    """What of a Listing one of `WHEN` says at an instant."""
    return {"since": max(now - _LONG[word], 1)}


def told_page(reader: RecordReader, viewer: Viewer, namespace: str) -> dict[str, Any]:
    """Of the page, what its head says."""
    spaces = narrowed(viewer.namespaces, namespace)
    return _told(reader, spaces, levels_of(viewer.access))


def told_panel(reader: RecordReader, subscription: Subscription, _now: int) -> dict[str, Any]:
    """The head told anew."""
    spaces = narrowed(subscription.namespaces, space_of(subscription.key))
    return _told(reader, spaces, subscription.may)


def _told(reader: RecordReader, namespaces: Namespaces, levels: Collection[str]) -> dict[str, Any]:
    every = seen_stories(namespaces, levels)
    asked = replace(every, running=True)
    running = reader.stories(asked, MOST_RANKED)
    lines = lines_of(reader, running[:MOST_RANKED], namespaces, says_outcome=False)
    has_more = len(running) > MOST_RANKED
    count = sum(reader.story_tally(asked).values()) if has_more else len(running)
    held_up = sum(line.standing in _NEEDY for line in lines)
    total = sum(reader.story_tally(every).values())
    return {
        "strong": _strong(count, held_up, total, has_more=has_more),
        "running_count": count,
        "held_up": held_up,
        "total": total,
        "page_index": reader.index,
    }


def _strong(running: int, held_up: int, total: int, *, has_more: bool) -> str:
    if not running:
        none = gettext("No story runs; {total} told.") if total else gettext("No story yet.")
        return none.format(total=number(total))
    told = ngettext("{count} story runs", "{count} stories run", running)
    told = told.format(count=number(running))
    if not held_up:
        return f"{told}."
    needy = (
        gettext("{told}; {held_up} of the newest {most} may need a person.")
        if has_more
        else gettext("{told}; {held_up} may need a person.")
    )
    return needy.format(told=told, held_up=number(held_up), most=number(MOST_RANKED))


def seen_stories(namespaces: Namespaces, levels: Collection[str]) -> StoryFilter:
    """Those of namespaces, and of the cluster's own those that the rights in `levels` open."""
    return StoryFilter(
        namespaces=None if namespaces is None else frozenset({*namespaces, CLUSTER}),
        hidden_kinds=hidden_kinds(levels),
    )


def _address(job: str, node: str) -> str:
    fields = {key: value for key, value in (("job", job), ("node", node)) if value}
    return f"/stories/?{urlencode(fields)}" if fields else "/stories/"


def running_strip(
    reader: RecordReader, namespaces: Namespaces, levels: Collection[str]
) -> dict[str, Any]:
    """Some of the stories that run, for *Now*: what may need a person first, then the newest."""
    asked = replace(seen_stories(namespaces, levels), running=True)
    running = reader.stories(asked, RANKED_FOR_A_STRIP)
    is_cut = len(running) > RANKED_FOR_A_STRIP
    shown = running[:RANKED_FOR_A_STRIP]
    ranked = sorted(lines_of(reader, shown, namespaces, says_outcome=False), key=_need)
    lines = _unlike_first(ranked)
    return {
        "running_stories": lines[:IN_A_STRIP],
        "running_count": sum(reader.story_tally(asked).values()) if is_cut else len(running),
    }


def _unlike_first(lines: Sequence[StoryLine]) -> list[StoryLine]:
    """Those that say what one before them says come last: four alike tell no more than one."""
    first: list[StoryLine] = []
    again: list[StoryLine] = []
    told: set[tuple[Any, ...]] = set()
    for line in lines:
        said = _said(line)
        (again if said in told else first).append(line)
        told.add(said)
    return first + again


def _said(line: StoryLine) -> tuple[Any, ...]:
    """What a strip shows of one besides its name."""
    version = f"v{line.story.job_version}"
    outcome = (line.outcome.strong + line.outcome.rest).replace(version, "")
    return line.story.kind, line.standing, outcome


class StripLine(NamedTuple):
    """A story on the page of a thing: what does not change of it."""

    story: Story
    title: Title
    kind: KindWord


def strip_of(
    reader: RecordReader,
    seen: StoryFilter,
    *,
    job: JobKey | None = None,
    node_id: str = "",
    kinds: frozenset[StoryKind] = frozenset(),
) -> dict[str, Any]:
    """The newest stories of a job or a node, for its page; in three reads."""
    asked = replace(seen, job=job, node_id=node_id, kinds=kinds)
    found = [row.story for row in reader.stories(asked, 5 * IN_A_STRIP)]
    found.sort(key=lambda story: (story.create_index, story.id), reverse=True)
    shown = found[:IN_A_STRIP]
    alone = {story.node_ids[0] for story in shown if story.node_count == 1 and story.node_ids}
    reader.preload(nodes=alone)
    names = {key: node.name for key in alone if (node := reader.node(key))}
    return {
        "stories": [
            StripLine(story, title_of(story, names), KINDS[story.kind]) for story in shown
        ],
        "stories_url": _address("/".join(job) if job is not None else "", node_id),
    }
