"""What a story is called: the thing that set all going, as a person would name it.

In: a story. Out: its kind in a word with an icon, its title with what of it is a link, what its
first circle says, the name of its files.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from django.utils.translation import gettext

from cluster.page_addresses import job_url
from dashboard.graphs.story_lanes import LaneEvent
from dashboard.wording import clipped, clock_time, count_of
from scheduler.structs.story import Story, StoryKind


class KindWord(NamedTuple):
    """A kind in the list and its chips."""

    word: str
    icon: str
    #: Which sets of words its lanes have.
    harm: str = ""


KINDS: Mapping[StoryKind, KindWord] = {
    StoryKind.ROLLOUT: KindWord("Rollout", "deployment"),
    StoryKind.DRAIN: KindWord("Drain", "draining", "drain"),
    StoryKind.LOSS: KindWord("Loss", "lost", "loss"),
    StoryKind.RETURN: KindWord("Return", "return"),
    StoryKind.CRASH_LOOP: KindWord("Crash loop", "loop"),
    StoryKind.PREEMPTION: KindWord("Preemption", "preempt"),
    StoryKind.SCALING: KindWord("Scaling", "scale"),
    StoryKind.STOP: KindWord("Stop", "stop"),
    StoryKind.DISPATCH: KindWord("Dispatch", "play"),
    StoryKind.LAUNCH: KindWord("Launch", "delayed"),
    StoryKind.EVALUATION: KindWord("By hand", "user"),
    StoryKind.COLLECTION: KindWord("Collection", "deleted"),
    StoryKind.CONFIGURATION: KindWord("Change", "settings"),
    StoryKind.NODE_CHANGE: KindWord("Node", "node"),
}
#: What the record says of a launch, in seconds since 1970.
_DUE = re.compile(r"due at (\d{9,11})")
_NAME = re.compile(r"[^a-z0-9]+")


class Title(NamedTuple):
    """`Rollout of `, `shop v2` with its address, and what comes after."""

    before: str
    linked: str = ""
    url: str = ""
    after: str = ""

    @property
    def plain(self) -> str:
        """All of it."""
        return f"{self.before}{self.linked}{self.after}"


#: What is done as soon as it was asked for.
_ACTS = frozenset({StoryKind.CONFIGURATION, StoryKind.COLLECTION})


def is_act(story: Story) -> bool:
    """Whether that it was asked for is all of it."""
    return story.kind in _ACTS


def harm_of(story: Story) -> str:
    """Which words the lanes of its jobs have."""
    return KINDS[story.kind].harm


def title_of(story: Story, names: Mapping[str, str] | None = None) -> Title:
    """Its headline; `names`: of nodes, by their ids, where they are known."""
    url = job_url(story.job_key) if story.job_id else ""
    match story.kind:
        case StoryKind.ROLLOUT:
            return _titled(gettext("Rollout of {it}"), f"{story.job_id} v{story.job_version}", url)
        case StoryKind.CRASH_LOOP:
            return _titled(gettext("Crash loop of {it}"), story.alloc_name or story.job_id, url)
        case StoryKind.EVALUATION:
            if not story.job_id:
                return Title(gettext("Evaluation by hand"))
            return _titled(gettext("Evaluation of {it}"), *_job(story))
        case StoryKind.STOP if story.alloc_name:
            return _titled(gettext("Stop of {it}"), story.alloc_name, url)
        case StoryKind.PREEMPTION:
            return _titled(gettext("Preemption by {it}"), story.job_id, url)
        case StoryKind.COLLECTION:
            return Title(gettext("Collection of what is over"))
        case StoryKind.CONFIGURATION:
            return Title(
                gettext("Change: {text}").format(text=story.text)
                if story.text
                else gettext("Change of the settings")
            )
        case StoryKind.DRAIN | StoryKind.LOSS | StoryKind.RETURN | StoryKind.NODE_CHANGE:
            return _of_nodes(story, names or {})
    word = gettext(KINDS[story.kind].word)
    told, (linked, _) = gettext("{word} of {it}").replace("{word}", word), _job(story)
    # The name of what was launched is the parent's and a number; the list says when.
    return _titled(told, (url and story.parent_job_id) or linked, url)


def _job(story: Story) -> tuple[str, str]:
    return (story.job_id, job_url(story.job_key)) if story.job_id else ("", "")


def _of_nodes(story: Story, names: Mapping[str, str]) -> Title:
    count = max(story.node_count, len(story.node_ids))
    first = story.node_ids[0] if story.node_ids else ""
    if count == 1:
        linked = names.get(first) or count_of(1, "{count} node", "{count} nodes")
        url = f"/nodes/{first}/"
    else:
        linked, url = count_of(count, "{count} node", "{count} nodes"), ""
    if story.kind is StoryKind.DRAIN:
        told = gettext("Drain of {it} by {who}") if story.actor else gettext("Drain of {it}")
        title = _titled(told.replace("{who}", story.actor), linked, url)
        return title._replace(after=f"{title.after}: {story.reason}") if story.reason else title
    when = clock_time(story.create_time)
    told = {
        StoryKind.LOSS: gettext("{it} lost {time}"),
        StoryKind.RETURN: gettext("{it} back"),
    }.get(story.kind, gettext("{it} changed"))
    return _titled(told.replace("{time}", when), linked, url)


def _titled(told: str, linked: str, url: str) -> Title:
    """A headline from its text, in which `{it}` stands for what is linked."""
    before, _, after = told.partition("{it}")
    return Title(before, linked, url, after)


def cause_of(story: Story, names: Mapping[str, str] | None = None) -> str:
    """What began, in the record's words, else in those of its kind."""
    due = _DUE.fullmatch(story.text)
    if due is not None:
        return gettext("due at {time}").format(time=clock_time(int(due[1]) * 1_000_000_000))
    return story.text or title_of(story, names).plain


def event_of(story: Story, names: Mapping[str, str] | None = None) -> LaneEvent:
    """What the first circle of its drawing says."""
    when = clock_time(story.create_time)
    title = title_of(story, names)
    if story.kind is StoryKind.ROLLOUT:
        lines = (title.linked, story.actor, when) if story.actor else (title.linked, when)
    elif story.kind in (StoryKind.LOSS, StoryKind.RETURN, StoryKind.NODE_CHANGE):
        words = {StoryKind.LOSS: gettext("lost"), StoryKind.RETURN: gettext("back")}
        lines = (title.linked, words.get(story.kind, gettext("changed")), when)
    elif title.linked:
        lines = (gettext(KINDS[story.kind].word), title.linked, when)
    else:
        lines = (gettext(KINDS[story.kind].word), when)
    return LaneEvent(
        lines=lines,
        name=gettext("Cause: {plain}, {when}").format(plain=title.plain, when=when),
        href=title.url,
    )


def file_name(story: Story, names: Mapping[str, str] | None = None) -> str:
    """`rollout-shop-v2`, for the files that are saved of it."""
    plain = _NAME.sub("-", title_of(story, names).plain.lower()).strip("-")
    return clipped(plain, 60).rstrip("\N{HORIZONTAL ELLIPSIS}-") or "story"


def nodes_told(story: Story) -> int:
    """How many nodes it has beyond those it names."""
    return max(story.node_count - len(story.node_ids), 0)
