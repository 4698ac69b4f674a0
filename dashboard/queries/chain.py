"""A chain's page: how evaluations follow from one another, drawn, as a tree and as rows.

In: a reader and the id of any member, collected or not. Out: the context of `chain.html`.
"""

from collections import Counter
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from dashboard.chains import Chain, chain_of, members_of, newest_steps
from dashboard.graphs.chain import ChainLayout, graph_key
from dashboard.graphs.chain_places import ChainMember
from dashboard.graphs.chain_tree import chain_tree
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.outcomes import short_outcome
from dashboard.queries.progress import took
from dashboard.queries.story_chosen import chosen_of_chain
from dashboard.queries.timeline import timeline_context
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number, one_of, short_id
from scheduler.structs.evaluation import Evaluation, LifecycleStep

#: Rows of the table, the newest; the graph and the files show every member.
MAX_ROWS = 100
#: What the page can show: the word of the address, the word on the switch.
VIEWS = {"graph": "Graph", "timeline": "Timeline", "list": "List", "table": "Table"}
_ORDER = (
    "scheduling", "applying", "pending", "delayed", "blocked", "failed", "complete", "canceled",
)  # fmt: skip


def chain_page(
    reader: RecordReader, viewer: Viewer, *, eval_id: str, view: str, is_tidy: bool = False
) -> dict[str, Any]:
    """The context of the page; raises Absent for an id that was never seen."""
    chain = _seen(reader, viewer, eval_id)
    layout = _layout(reader, chain, eval_id, is_tidy=is_tidy)
    graph = layout.graph()
    shown = view if view in VIEWS else "graph"
    return {
        "eval_id": eval_id,
        "graph": graph,
        "mermaid": graph_mermaid(graph, says_states=True),
        "tree": chain_tree(layout),
        "view": shown,
        "is_tidy": is_tidy,
        "views": [
            {"word": word, "url": f"?view={key}", "is_current": key == shown}
            for key, word in VIEWS.items()
        ],
        "crumbs": crumbs(
            ("Evaluations", "/evaluations/"),
            (short_id(eval_id), f"/evaluations/{eval_id}/"),
            ("Chain", ""),
        ),
        # One topic a page: each brings what its page shows, and no graph that is not there.
        "live_topics": f"{'tidy' if is_tidy else 'chain'}:{eval_id}",
        **_told(reader, chain, layout, eval_id),
        **_timed(reader, viewer, chain, eval_id=eval_id, view=shown),
    }


def _timed(
    reader: RecordReader, viewer: Viewer, chain: Chain, *, eval_id: str, view: str
) -> dict[str, Any]:
    if view != "timeline":
        return {}
    return {
        "live_topics": f"timeline:{eval_id}",
        **timeline_context(reader, chain, eval_id=eval_id, now=viewer.now),
    }


def chain_panel(reader: RecordReader, subscription: Subscription, _now: int) -> dict[str, Any]:
    """Sentence, facts and rows, rendered again when a member changes."""
    chain = chain_of(reader, subscription.key)
    layout = _layout(reader, chain, subscription.key)
    return _told(reader, chain, layout, subscription.key)


def chain_timeline_panel(
    reader: RecordReader, subscription: Subscription, now: int
) -> dict[str, Any]:
    """Sentence, facts and timeline, rendered again when a member changes."""
    eval_id = subscription.key
    chain = chain_of(reader, eval_id)
    layout = _layout(reader, chain, eval_id)
    timed = timeline_context(reader, chain, eval_id=eval_id, now=now)
    return {**_told(reader, chain, layout, eval_id), **timed}


def chain_record(reader: RecordReader, viewer: Viewer, *, eval_id: str) -> dict[str, Any]:
    """The chain as the text of its files."""
    chain = _seen(reader, viewer, eval_id)
    graph = _layout(reader, chain, eval_id).graph()
    whole = {
        "Index": reader.index,
        "Evaluations": [*chain.evaluations.values()],
        "Collected": [*chain.stubs.values()],
    }
    return {
        "mmd": graph_mermaid(graph, says_states=True),
        "json": msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n",
    }


def _seen(reader: RecordReader, viewer: Viewer, eval_id: str) -> Chain:
    chain = chain_of(reader, eval_id)
    start = chain.evaluations.get(eval_id) or chain.stubs.get(eval_id)
    if start is None or not viewer.sees(start.namespace):
        raise Absent
    return chain


def _layout(
    reader: RecordReader, chain: Chain, eval_id: str, *, is_tidy: bool = False
) -> ChainLayout:
    layout = ChainLayout(graph_key(eval_id, is_tidy=is_tidy), selected=eval_id)
    layout.update(members_of(chain, newest_steps(reader, chain)))
    if is_tidy:
        layout.tidy()
    return layout


def _told(reader: RecordReader, chain: Chain, layout: ChainLayout, eval_id: str) -> dict[str, Any]:
    everyone = sorted(
        [*chain.evaluations.values(), *chain.stubs.values()],
        key=lambda item: (item.create_time, item.id),
    )
    shown = everyone[-MAX_ROWS:]
    newest = reader.newest_steps_of([item.id for item in shown])
    rows = [_row(item, layout.members[item.id], eval_id, newest.get(item.id)) for item in shown]
    return {
        "chosen": chosen_of_chain(reader, chain, layout.members.get(eval_id)),
        "start": chain.evaluations.get(eval_id) or chain.stubs.get(eval_id),
        "rows": rows,
        "hidden": max(len(everyone) - MAX_ROWS, 0),
        "strong": gettext("{evaluation} for {job}.").format(
            evaluation=count_of(len(everyone), "{count} evaluation", "{count} evaluations"),
            job=count_of(len({item.job_key for item in everyone}), "{count} job", "{count} jobs"),
        ),
        "rest": _states(layout),
        "began": everyone[0].create_time if everyone else 0,
        "ended": 0
        if any(not item.is_terminal for item in chain.evaluations.values())
        else max((item.modify_time for item in everyone), default=0),
        "folded": len(layout.folded_into),
        "collected": len(chain.stubs),
        "page_index": reader.index,
    }


def _states(layout: ChainLayout) -> str:
    counts = Counter(
        "collected" if member.is_tombstone else member.state for member in layout.members.values()
    )
    ordered = [*_ORDER, *sorted(counts.keys() - set(_ORDER))]
    parts = [f"{number(counts[state])} {state}" for state in ordered if counts[state]]
    return one_of(parts, "and") + "." if parts else ""


def _row(
    evaluation: Evaluation, member: ChainMember, eval_id: str, newest: LifecycleStep | None
) -> dict[str, Any]:
    return {
        "evaluation": evaluation,
        "state": "collected" if member.is_tombstone else member.state,
        "is_selected": evaluation.id == eval_id,
        "made_by": evaluation.previous_eval or member.cause_eval,
        "event": " ".join(member.event_lines[:2]),
        "told": member.outcome if member.is_tombstone else short_outcome(evaluation),
        "took": took(evaluation, newest),
    }
