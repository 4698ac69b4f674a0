"""A story as an incident note: what, when, who, path, figures, links, in Markdown.

In: a Whole and the address of the site. Out: text. What people named is quoted, so that no name
becomes a heading, a link or markup.
"""

from collections.abc import Iterator, Sequence

import msgspec

from cluster.page_addresses import job_url
from dashboard.labels import label_for
from dashboard.outcomes import OutcomeSentence, waiting_for
from dashboard.stories.lanes import LaneRow
from dashboard.stories.losses import Loss
from dashboard.stories.names import KINDS, cause_of, nodes_told, title_of
from dashboard.stories.told import outcome_of, standing_of
from dashboard.stories.whole import Whole, past_told
from dashboard.why_waiting import why_it_waits
from dashboard.wording import clock_time, full_time, number, one_of, short_id, span

_MARKUP = frozenset("\\`*_{}[]<>#|~&")
#: Evaluations that wait, told one by one.
_MOST = 20
_FORMS = {"mmd": "As Mermaid text", "svg": "As a picture", "json": "As data"}


class NoteParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a note tells beside the story itself, where it is known."""

    #: The sentence of its page.
    outcome: OutcomeSentence | None = None
    #: What a version changed, and where the whole difference is, from the site's root.
    changed: str = ""
    compare_url: str = ""
    #: What people did, each a sentence.
    acts: Sequence[str] = ()
    loss: Loss | None = None


def incident_note(whole: Whole, site: str, parts: NoteParts | None = None) -> str:
    """The whole note."""
    return "\n".join(_lines(whole, site, parts or NoteParts())) + "\n"


def _lines(whole: Whole, site: str, parts: NoteParts) -> Iterator[str]:
    story, facts, past = whole.story, whole.facts, whole.gathered.past
    told = parts.outcome or outcome_of(facts)
    yield f"# {plain(title_of(story, whole.names).plain)}"
    yield ""
    if past is not None:
        then = f"As of {full_time(past.at)}, index {number(past.index)}."
        yield f"{then} {past_told(whole)}".rstrip()
        yield ""
    yield f"**{plain(told.strong)}** {plain(told.rest)}".rstrip()
    yield ""
    yield from table(
        ("", ""),
        [
            ("What", f"{KINDS[story.kind].word}: {cause_of(story, whole.names)}"),
            *([("Changed", parts.changed)] if parts.changed else []),
            *([("Nodes", _nodes(whole))] if whole.names else []),
            ("Stands", label_for("story", standing_of(facts)).word),
            ("Who", story.actor or "no person"),
            *([("Reason", story.reason)] if story.reason else []),
            ("Began", full_time(story.create_time)),
            ("Ended", full_time(facts.ended) if facts.ended else "not over"),
            *([("Lasted", span(facts.ended - facts.began))] if facts.ended > facts.began else []),
        ],
    )
    yield from _path(whole)
    if parts.acts:
        yield "## Who did what"
        yield ""
        yield from (f"- {plain(act)}" for act in parts.acts)
        yield ""
    yield from _figures(whole)
    if parts.loss is not None:
        yield from _lost(parts.loss)
    yield from _waiting(whole, site)
    yield "## Links"
    yield ""
    address = f"{site}/stories/{story.id}/"
    yield f"- The story: <{address}>"
    if past is not None:
        yield f"- This moment: <{address}?at={past.index}>"
    if story.job_id:
        yield f"- The job: <{site}{job_url(story.job_key)}>"
    if whole.rollout is not None:
        yield f"- The deployment: <{site}/deployments/{whole.rollout.deployment.id}/>"
    if parts.compare_url:
        yield f"- What changed: <{site}{parts.compare_url}>"
    for node_id, name in [*whole.names.items()][:_MOST]:
        yield f"- {plain(name)}: <{site}/nodes/{node_id}/>"
    for form, word in _FORMS.items():
        yield f"- {word}: <{site}/stories/{story.id}.{form}>"


def _nodes(whole: Whole) -> str:
    more = nodes_told(whole.story)
    rest = [f"{number(more)} more"] if more else []
    return one_of([*whole.names.values(), *rest], "and")


def _lost(loss: Loss) -> Iterator[str]:
    """What was lost, by job and by place, as the page has it."""
    yield "## What was lost"
    yield ""
    for head, lines in (("Job", loss.jobs), ("Place", loss.places)):
        yield from table(
            (head, "Lost", "Replaced", "Need none", "Without a place"),
            [
                (
                    line.key.job_id if line.key is not None else line.place,
                    *(
                        number(count)
                        for count in (
                            line.sums.lost, line.sums.replaced, line.sums.need_none,
                            line.sums.missing,
                        )
                    ),
                )
                for line in lines[:_MOST]
            ],
        )  # fmt: skip


def _path(whole: Whole) -> Iterator[str]:
    if not whole.lanes.rows:
        return
    yield "## Path"
    yield ""
    yield from table(
        ("Phase", "State", "Began", "Evaluations", "What happened"),
        [
            (
                row.title,
                label_for("story", row.state).word,
                clock_time(row.began) if row.began else "",
                number(row.evaluations),
                _row(row),
            )
            for row in whole.lanes.rows
        ],
    )


def _row(row: LaneRow) -> str:
    healthy = f"{number(row.healthy)} of {number(row.wanted)} healthy." if row.wanted else ""
    again = [f"{alloc.name} took {number(tries)} tries." for alloc, tries in row.again[:_MOST]]
    return " ".join(part for part in (healthy, row.told, *again) if part)


def _figures(whole: Whole) -> Iterator[str]:
    facts = whole.facts
    figures = [
        ("Evaluations", facts.evaluations),
        ("Jobs", facts.jobs),
        ("On the way", facts.running),
        ("Wait for room", facts.blocked),
        ("Failed", facts.failed),
        ("Collected since", facts.collected),
        *((f"Allocations {word}", count) for word, count in facts.done.items()),
    ]
    told: list[tuple[str, ...]] = [(word, number(count)) for word, count in figures if count]
    if told:
        yield "## Figures"
        yield ""
        yield from table(("Of what", "How many"), told)


def _waiting(whole: Whole, site: str) -> Iterator[str]:
    blocked = whole.blocked
    if not blocked:
        return
    yield "## What waits"
    yield ""
    for item in blocked[:_MOST]:
        count, lacking = waiting_for(item)
        why = why_it_waits(item) or f"for {lacking or 'room'}"
        told = f"{number(count)} of " if count else ""
        yield (
            f"- {told}{plain(item.job_id)}: {plain(why)}"
            f" ([{short_id(item.id)}]({site}/evaluations/{item.id}/))"
        )
    if whole.facts.blocked > _MOST:
        more = whole.facts.blocked - _MOST
        yield f"- and {number(more)} more {'evaluation' if more == 1 else 'evaluations'}"
    yield ""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    """A table of plain text, line by line, and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(plain(cell) for cell in row)} |"
    yield ""


def plain(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return "".join(f"\\{char}" if char in _MARKUP else char for char in line)
