"""The page that explains one group of an evaluation: every node, then and now, and why not there.

In: a reader, a viewer, the evaluation and what is asked of the page. Out: the context of
`explain.html`. The record of then is read in a fixed number of reads; now asks the real engine on
demand, a few at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.http import QueryDict
from django.utils.translation import gettext, gettext_noop

from cluster.operations.errors import NotFound
from cluster.operations.explain_now import FoundNow, explain_now
from cluster.operations.unblock import PATIENCE, unblock
from cluster.store.ports import RecordReader
from dashboard.graphs.explanation import explanation_view, nodes_named
from dashboard.graphs.node_matrix import (
    GROUPED_ABOVE,
    MOST_NAMED,
    MOST_ROWS,
    Matrix,
    folded_matrix,
    grouped_matrix,
    node_matrix,
)
from dashboard.queries.beside import beside
from dashboard.queries.decision import KeptExplanations, kept_for
from dashboard.queries.explain_words import (
    explain_title,
    found_sentence,
    kept_told,
    unblocked_told,
    woken_for,
)
from dashboard.queries.unblock import unblock_view
from dashboard.queries.why_not import node_called, why_not
from dashboard.rights import NODE_READ
from dashboard.subscription import Subscription, topic_text
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import number, short_id
from scheduler.ports import Clock
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.explanation import GroupExplanation

#: How many may ask the engine at once in one process, and how long others wait for their turn.
_TURNS = BoundedSemaphore(2)
_PATIENCE_S = 5.0
_BUSY = gettext_noop("Others are asking at this moment. Ask again in a few seconds.")


class ExplainAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for."""

    group: str = ""
    #: `then`, `now` or `both`.
    view: str = "then"
    #: `grouped`, `each` or "" for what suits the number of nodes.
    rows: str = ""
    node: str = ""
    beside: str = ""
    unblock: bool = False

    @classmethod
    def from_query(cls, query: QueryDict) -> "ExplainAsk":
        """Unknown values count as none."""
        view, rows = query.get("view", ""), query.get("rows", "")
        return cls(
            group=query.get("group", ""),
            view=view if view in {"now", "both"} else "then",
            rows=rows if rows in {"grouped", "each"} else "",
            node=query.get("node", "").strip(),
            beside=query.get("beside", ""),
            unblock=bool(query.get("unblock", "")),
        )

    @property
    def needs_now(self) -> bool:
        """Whether the engine is to be asked."""
        return self.view != "then" or bool(self.node)

    @property
    def text(self) -> str:
        """The query of its address; `from_query` reads it."""
        fields = {
            "group": self.group,
            "view": "" if self.view == "then" else self.view,
            "rows": self.rows,
            "node": self.node,
            "beside": self.beside,
            "unblock": "1" if self.unblock else "",
        }
        return urlencode({name: value for name, value in fields.items() if value})

    def url(self, eval_id: str, **changed: object) -> str:
        """The same page, asked otherwise."""
        query = msgspec.structs.replace(self, **changed).text
        return f"/explain/{eval_id}/" + (f"?{query}" if query else "")


def is_asked(text: str) -> bool:
    """Whether this is how the page's address says what is asked."""
    return ExplainAsk.from_query(QueryDict(text)).text == text


class Busy(Exception):
    """Others are asking the engine."""


@contextmanager
def own_turn() -> Iterator[None]:
    """At most a few ask the engine at once, so that pages stay quick. Raises Busy."""
    if not _TURNS.acquire(timeout=_PATIENCE_S):
        raise Busy
    try:
        yield
    finally:
        _TURNS.release()


def explain_page(
    reader: RecordReader, viewer: Viewer, eval_id: str, asked: ExplainAsk, clock: Clock
) -> dict[str, Any]:
    """The context of the page; raises Absent for what may not be seen, or is gone."""
    evaluation = reader.evaluation(eval_id)
    if evaluation is None or not viewer.sees(evaluation.namespace):
        raise Absent
    kept = kept_for(reader, evaluation, has_placed=True)
    groups = _groups(reader, evaluation, kept)
    group = asked.group if asked.group in groups else next(iter(groups), "")
    asked = msgspec.structs.replace(asked, group=group)
    may_ask = NODE_READ in viewer.may_with_nodes
    now, problem = _asked_now(reader, viewer, evaluation, asked) if may_ask else (None, "")
    then = kept.groups.get(group)
    return {
        **_told(reader, evaluation, kept, group),
        **_table(reader, asked, then, now, kept.named),
        **_choices(eval_id, asked, groups, may_ask=may_ask),
        "asked": asked,
        "may_ask": may_ask,
        "now_problem": problem,
        "found_now": now,
        "why_not": why_not(asked.node, then, now) if asked.node and now else None,
        "beside": beside(reader, evaluation, group, asked.beside),
        **_unblocking(reader, viewer, evaluation, asked, clock, may_ask=may_ask),
        "live_topics": topic_text("explain", f"{eval_id}/{asked.text}"),
    }


def _unblocking(
    reader: RecordReader,
    viewer: Viewer,
    evaluation: Evaluation,
    asked: ExplainAsk,
    clock: Clock,
    *,
    may_ask: bool,
) -> dict[str, Any]:
    """What would unblock it, where that was asked for."""
    if not asked.unblock or not may_ask:
        return {"unblocking": None, "unblock_problem": ""}
    until = clock.now() + PATIENCE
    try:
        with own_turn():
            found = unblock(
                reader,
                evaluation.job_key,
                asked.group,
                now=viewer.now,
                is_late=lambda: clock.now() > until,
            )
    except NotFound as gone:
        return {
            "unblocking": None,
            "unblock_problem": gettext("It cannot be asked: {gone}.").format(gone=gone),
        }
    except Busy:
        return {"unblocking": None, "unblock_problem": gettext(_BUSY)}
    told = unblock_view(reader, viewer, evaluation, asked.group, found)
    return {"unblocking": told, "unblock_problem": ""}


def explain_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """Head, table of then and what stands beside it, when something is found anew."""
    del now
    eval_id, _, text = subscription.key.partition("/")
    evaluation = reader.evaluation(eval_id)
    if evaluation is None:
        return {"evaluation": None, "matrix": None, "beside": None}
    kept = kept_for(reader, evaluation, has_placed=True)
    asked = ExplainAsk.from_query(QueryDict(text))
    may_ask = NODE_READ in subscription.may
    return {
        **_told(reader, evaluation, kept, asked.group),
        **_table(reader, asked, kept.groups.get(asked.group), None, kept.named),
        **_choices(eval_id, asked, (), may_ask=may_ask),
        "may_ask": may_ask,
        "beside": beside(reader, evaluation, asked.group, asked.beside),
    }


def _groups(
    reader: RecordReader, evaluation: Evaluation, kept: KeptExplanations
) -> dict[str, str]:
    """The names of groups, those that wait first."""
    names = dict.fromkeys([*evaluation.failed_task_groups, *kept.groups])
    if not names:
        job = reader.job(evaluation.job_key)
        names = dict.fromkeys(group.name for group in (job.task_groups if job else ()))
    return {name: name for name in names}


def _asked_now(
    reader: RecordReader, viewer: Viewer, evaluation: Evaluation, asked: ExplainAsk
) -> tuple[FoundNow | None, str]:
    if not asked.needs_now or not asked.group:
        return None, ""
    try:
        with own_turn():
            node_id = node_called(reader, asked.node)
            key = evaluation.job_key
            return explain_now(reader, key, asked.group, now=viewer.now, node_id=node_id), ""
    except NotFound as gone:
        return None, gettext("Now cannot be asked: {gone}.").format(gone=gone)
    except Busy:
        return None, gettext(_BUSY)


def _told(
    reader: RecordReader, evaluation: Evaluation, kept: KeptExplanations, group: str
) -> dict[str, Any]:
    then = kept.groups.get(group)
    metric = evaluation.failed_task_groups.get(group)
    waits = then.failed if then is not None else 1 + metric.coalesced_failures if metric else 0
    name = evaluation.job_id
    woken = woken_for(reader, evaluation)
    return {
        "evaluation": evaluation,
        "group": group,
        "then": then,
        "title": explain_title(name, waits=waits),
        "waits": waits,
        "waits_told": f"{number(waits)} {'waits' if waits == 1 else 'wait'}",
        "sentence": found_sentence(then, waits, _names(reader, then, kept.named)),
        "unblocked": unblocked_told(woken),
        "woken": woken,
        "kept_told": kept_told(reader, evaluation, kept.by or evaluation.id),
        "found_by": kept.by if then is not None else "",
        "found_index": kept.index,
        "is_forgotten": then is None,
        "page_index": reader.index,
        "crumbs": crumbs(
            ("Evaluations", "/evaluations/"),
            (short_id(evaluation.id), f"/evaluations/{evaluation.id}/"),
            ("Explain", ""),
        ),
    }


def _table(
    reader: RecordReader,
    asked: ExplainAsk,
    then: GroupExplanation | None,
    now: FoundNow | None,
    most: int,
) -> dict[str, Any]:
    """The table of what was asked for, and the scores of those with room."""
    view = asked.view if now is not None else "then"
    found = now.survey.explanation if now is not None and view == "now" else then
    if found is None:
        return {"matrix": None, "scores": None, "view": view}
    verdicts = now.survey.nodes if now is not None and view != "then" else None
    total = found.candidates + sum(item.count for item in found.not_asked)
    is_each = asked.rows == "each" or (not asked.rows and total <= GROUPED_ABOVE)
    if now is not None:
        names: Mapping[str, str] = {node.id: node.name for node in now.nodes.values()}
    else:
        names = _names(reader, found, MOST_ROWS if is_each else max(most, MOST_NAMED))
    made = node_matrix if is_each else grouped_matrix
    matrix = made(found, verdicts, names)
    if not asked.rows:
        matrix = folded_matrix(matrix)
    if view == "now":
        matrix = _without_now(matrix)
    scores = explanation_view(found, names) if found.best else None
    return {"matrix": matrix, "scores": scores, "view": view}


def _without_now(matrix: Matrix) -> Matrix:
    """A table of now alone says it once."""
    return msgspec.structs.replace(matrix, has_now=False)


def _names(reader: RecordReader, found: GroupExplanation | None, most: int) -> dict[str, str]:
    if found is None:
        return {}
    wanted = set(nodes_named(found, most))
    wanted |= {node_id for item in found.not_asked for node_id in item.node_ids[:most]}
    reader.preload(nodes=wanted)
    nodes = (reader.node(node_id) for node_id in wanted)
    return {node.id: node.name for node in nodes if node is not None}


def _choices(
    eval_id: str, asked: ExplainAsk, groups: Sequence[str] | Mapping[str, str], *, may_ask: bool
) -> dict[str, Any]:
    """What the page offers to be asked otherwise."""
    views = (("Then", "then"), ("Now", "now"), ("Both", "both"))
    return {
        "view_choices": [
            {
                "word": word,
                "url": asked.url(eval_id, view=view),
                "is_current": asked.view == view,
            }
            for word, view in views
            if may_ask or view == "then"
        ],
        "row_choices": [
            {
                "word": word,
                "url": asked.url(eval_id, rows=rows),
                "is_current": (asked.rows == "each") == (rows == "each"),
            }
            for word, rows in ((gettext("Grouped"), ""), (gettext("Every node"), "each"))
        ],
        "group_choices": [
            {
                "word": name,
                "url": asked.url(eval_id, group=name, beside=""),
                "is_current": name == asked.group,
            }
            for name in groups
        ],
        "now_url": asked.url(eval_id, view="both"),
        "unblock_url": asked.url(eval_id, unblock=True) + "#unblock",
    }
