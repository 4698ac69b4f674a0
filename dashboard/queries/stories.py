"""The list of stories: those that run first, then the newest; by kind, job, node and who.

In: a reader and a StoryWish. Out: the context of `stories.html`, a page of rows, in a number of
reads that does not grow; and the few newest stories of one thing, for its page.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from cluster.jobspec.names import LONGEST_NAME
from cluster.store.ports import ListedStory, Namespaces, RecordReader, StoryFilter
from dashboard.queries.evaluations import evaluation_tabs
from dashboard.rights import NODE_READ
from dashboard.stories.folds import Row, StoryFold, folded
from dashboard.stories.names import KINDS, KindWord, Title, title_of
from dashboard.stories.rows import StoryLine, lines_of
from dashboard.stories.told import HELD_UP, WAITS
from dashboard.subscription import Subscription, topic_text
from dashboard.viewer import Viewer
from dashboard.wording import count_of, number
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.story import Story, StoryKind

PAGE_SIZE = 50
#: As many are looked through for alike ones, so that a page of them says much.
READ_TO_FOLD = 300
#: What the page of a thing shows of its stories.
IN_A_STRIP = 4
_NEEDY = (HELD_UP, WAITS)


class StoryWish(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" means any."""

    kind: str = ""
    job: str = ""
    node: str = ""
    who: str = ""
    #: `1`: alike ones are not folded.
    each: str = ""
    #: `<1 where it runs>.<create index>.<id>` of the first row.
    after: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "StoryWish":
        """From the address; a kind that does not exist is as good as none."""
        kind = query.get("kind", "")
        return cls(
            kind=kind if kind in set(StoryKind) else "",
            job=query.get("job", "")[: LONGEST_NAME + 129],
            node=query.get("node", "")[:200],
            who=query.get("who", "")[:200],
            each="1" if query.get("each") == "1" else "",
            after=query.get("after", "")[:80],
        )

    @property
    def narrows(self) -> bool:
        """Whether rows are left out."""
        return bool(self.kind or self.job or self.node or self.who or self.each)

    @property
    def folds(self) -> bool:
        """Whether alike ones are one row; of one kind each is told for itself."""
        return not (self.kind or self.each)

    def address(self, **changes: str) -> str:
        """The list's address with these fields changed, from its first page on."""
        fields = {**msgspec.structs.asdict(self), "after": "", **changes}
        told = urlencode({key: value for key, value in fields.items() if value})
        return f"/stories/?{told}" if told else "/stories/"

    @property
    def job_key(self) -> JobKey | None:
        """`team/web`, or `web` in the namespace that jobs have by default."""
        if not self.job:
            return None
        namespace, has_namespace, job_id = self.job.partition("/")
        return JobKey(namespace, job_id) if has_namespace else JobKey(DEFAULT_NAMESPACE, self.job)

    def place(self) -> tuple[bool, int, str] | tuple[()]:
        """Where the page begins."""
        running, _, rest = self.after.partition(".")
        index, _, story_id = rest.partition(".")
        if not index.isdecimal() or len(index) > 18:
            return ()
        return running == "1", int(index), story_id


def stories_page(reader: RecordReader, viewer: Viewer, *, wanted: StoryWish) -> dict[str, Any]:
    """The context of the page."""
    spaces = seen_namespaces(viewer.looks_at, reads_nodes=viewer.access.reads("node"))
    return {
        **_listed(reader, spaces, viewer.looks_at, wanted),
        "wanted": wanted,
        "tabs": evaluation_tabs("/stories/"),
        "live_topics": topic_text("stories", viewer.chosen or "*")
        if not wanted.after and not wanted.narrows
        else "",
    }


def stories_panel(reader: RecordReader, subscription: Subscription, _now: int) -> dict[str, Any]:
    """The first page without filters, rendered again when a story changes."""
    reads_nodes = NODE_READ in subscription.may
    spaces = seen_namespaces(subscription.namespaces, reads_nodes=reads_nodes)
    return _listed(reader, spaces, subscription.namespaces, StoryWish())


def seen_namespaces(namespaces: Namespaces, *, reads_nodes: bool) -> Namespaces:
    """With the cluster's own stories, which have no namespace, for whoever may see nodes."""
    if namespaces is None or not reads_nodes:
        return namespaces
    return frozenset({*namespaces, ""})


def _listed(
    reader: RecordReader, spaces: Namespaces, namespaces: Namespaces, wanted: StoryWish
) -> dict[str, Any]:
    asked = StoryFilter(
        namespaces=spaces,
        kinds=frozenset({StoryKind(wanted.kind)}) if wanted.kind else frozenset(),
        job=wanted.job_key,
        node_id=_node_id(reader, wanted.node),
        actor=wanted.who or None,
    )
    most = READ_TO_FOLD if wanted.folds else PAGE_SIZE
    found = reader.stories(asked, most, wanted.place())
    lines = lines_of(reader, found[:most], namespaces)
    rows: list[Row] = [*lines]
    taken = len(lines)
    if wanted.folds:
        rows, taken = folded(lines, PAGE_SIZE)
    more = found[taken] if len(found) > taken else None
    tally = reader.story_tally(msgspec.structs.replace(asked, kinds=frozenset()))
    running = sorted(
        (row for row in rows if isinstance(row, StoryLine) and row.is_running), key=_need
    )
    ended = [row for row in rows if isinstance(row, StoryFold) or not row.is_running]
    total = sum(tally.values())
    held_up = sum(line.standing in _NEEDY for line in running)
    return {
        "running": running,
        "ended": [_ended_row(row) for row in ended],
        "strong": _strong(len(running), held_up, total),
        "running_count": len(running),
        "held_up": held_up,
        "total": total,
        "shown_told": _shown_told(rows, taken, total),
        "chips": _chips(wanted, tally),
        "narrows": wanted.narrows,
        "no_match_told": "No story fits these filters.",
        "next_url": wanted.address(after=_after(more)) if more is not None else "",
        "first_url": wanted.address() if wanted.after else "",
        "page_index": reader.index,
    }


def _ended_row(row: Row) -> dict[str, Any]:
    """A story, or several alike ones with where each has a row of its own."""
    if isinstance(row, StoryLine):
        return {"row": row}
    return {"row": row.first, "fold": row, "each_url": f"/stories/?{urlencode(row.query)}"}


def _shown_told(rows: Sequence[Row], taken: int, total: int) -> str:
    told = f"{number(taken)} of {count_of(total, 'story', 'stories')}"
    folds = [row for row in rows if isinstance(row, StoryFold)]
    inside = sum(len(row.lines) for row in folds)
    return f"{told}; {number(inside)} folded into {count_of(len(folds), 'row')}" if folds else told


def _need(line: StoryLine) -> tuple[bool, int]:
    return line.standing not in _NEEDY, -line.story.create_index


def _after(row: ListedStory) -> str:
    is_running, index, story_id = row.place
    return f"{int(is_running)}.{index}.{story_id}"


def _strong(running: int, held_up: int, total: int) -> str:
    if not running:
        return f"No story runs; {number(total)} told." if total else "No story yet."
    told = count_of(running, "story runs", "stories run")
    needy = count_of(held_up, "may need a person", "may need a person")
    return f"{told}; {needy}." if held_up else f"{told}."


def _chips(wanted: StoryWish, tally: Mapping[str, int]) -> list[dict[str, Any]]:
    """The kinds that there are, which add up to all."""
    chips: list[dict[str, Any]] = [
        {
            "word": "All",
            "icon": "story",
            "count": sum(tally.values()),
            "url": wanted.address(kind=""),
            "is_current": not wanted.kind,
        }
    ]
    chips += [
        {
            "word": word.word,
            "icon": word.icon,
            "count": tally.get(kind, 0),
            "url": wanted.address(kind=kind.value),
            "is_current": wanted.kind == kind,
        }
        for kind, word in KINDS.items()
        if tally.get(kind) or wanted.kind == kind
    ]
    return chips


def _node_id(reader: RecordReader, text: str) -> str:
    """The id of a node that is named, or whose id is given."""
    if not text:
        return ""
    return next((face.id for face in reader.node_faces() if text in (face.id, face.name)), text)


class StripLine(NamedTuple):
    """A story on the page of a thing: what does not change of it."""

    story: Story
    title: Title
    kind: KindWord


def strip_of(
    reader: RecordReader,
    namespaces: Namespaces,
    *,
    job: JobKey | None = None,
    node_id: str = "",
    kinds: frozenset[StoryKind] = frozenset(),
) -> dict[str, Any]:
    """The newest stories of a job or a node, for its page; in three reads."""
    asked = StoryFilter(namespaces=namespaces, job=job, node_id=node_id, kinds=kinds)
    found = [row.story for row in reader.stories(asked, 5 * IN_A_STRIP)]
    found.sort(key=lambda story: (story.create_index, story.id), reverse=True)
    shown = found[:IN_A_STRIP]
    alone = {story.node_ids[0] for story in shown if story.node_count == 1 and story.node_ids}
    reader.preload(nodes=alone)
    names = {key: node.name for key in alone if (node := reader.node(key))}
    wish = StoryWish(job="/".join(job) if job is not None else "", node=node_id)
    return {
        "stories": [
            StripLine(story, title_of(story, names), KINDS[story.kind]) for story in shown
        ],
        "stories_url": wish.address(),
    }
