"""One evaluation's page: what made it, its life, what it decided and why, what came of it.

In: a reader and the evaluation's id. Out: the context of `evaluation.html`, in a number of reads
that does not grow with the cluster. A collected evaluation keeps a page, made from its stub.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from cluster.store.ports import RecordReader
from dashboard.chains import chain_of, members_of, newest_steps
from dashboard.graphs.chain import ChainLayout
from dashboard.graphs.chain_tree import chain_tree
from dashboard.graphs.lifecycle import (
    MadeEvaluation,
    current_state,
    life_bars,
    life_rows,
    lifecycle_graph,
)
from dashboard.graphs.mermaid import graph_mermaid
from dashboard.lives import life_of, made_by
from dashboard.queries.decision import decision, result
from dashboard.stories.names import title_of
from dashboard.subscription import Subscription
from dashboard.viewer import Absent, Viewer, crumbs
from scheduler.structs.evaluation import Evaluation, LifecycleStep, Step

#: Statuses of evaluations that decided something; the others saw nothing yet.
_WITH_CAPSULE = frozenset({"complete", "failed"})


def evaluation_page(reader: RecordReader, viewer: Viewer, eval_id: str) -> dict[str, Any]:
    """The context of the page; raises Absent for an id that was never seen."""
    evaluation = reader.evaluation(eval_id)
    if evaluation is None:
        return _tombstone(reader, viewer, eval_id)
    if not viewer.sees(evaluation.namespace):
        raise Absent
    steps = tuple(reader.lifecycle(eval_id))
    siblings = reader.evaluations_by_job(evaluation.job_key)
    life = life_of(evaluation, steps, _made(siblings, eval_id))
    rows = life_rows(life)
    graph = lifecycle_graph(life)
    return {
        "evaluation": evaluation,
        "state": current_state(life),
        "life": graph,
        "life_mermaid": graph_mermaid(graph),
        "rows": rows,
        "steps": list(zip(rows, life_bars(rows, viewer.now), strict=True)),
        "crumbs": _crumbs(evaluation),
        "live_topics": f"evaluation:{eval_id},chain:{eval_id}",
        **_chain(reader, eval_id),
        "story_name": _story_name(reader, evaluation),
        **decision(reader, evaluation, steps),
        "raw": raw(evaluation, steps),
        "has_raw": True,
        "has_capsule": "capsule" in viewer.opens and evaluation.status.value in _WITH_CAPSULE,
    }


def head_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """Head and sentence, rendered again at each change; nodes are not asked for."""
    del now
    evaluation = reader.evaluation(subscription.key)
    if evaluation is None:
        return _collected(reader, subscription.key)
    steps = tuple(reader.lifecycle(subscription.key))
    return {
        "evaluation": evaluation,
        "state": current_state(life_of(evaluation, steps, ())),
        "crumbs": _crumbs(evaluation),
        "page_index": reader.index,
        "has_raw": True,
        "has_capsule": "capsule" in subscription.may and evaluation.status.value in _WITH_CAPSULE,
        **result(reader, evaluation, steps),
    }


def decision_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """Decision and facts."""
    del now
    evaluation = reader.evaluation(subscription.key)
    if evaluation is None:
        return _collected(reader, subscription.key)
    steps = tuple(reader.lifecycle(subscription.key))
    return {
        "evaluation": evaluation,
        "story_name": _story_name(reader, evaluation),
        **decision(reader, evaluation, steps),
    }


def _story_name(reader: RecordReader, evaluation: Evaluation) -> str:
    """The name of its story; empty for one of the cluster, which not all may see, and unkept."""
    story = reader.story(evaluation.story_id) if evaluation.story_id else None
    is_near = story is not None and story.namespace == evaluation.namespace
    return title_of(story).plain if is_near and story is not None else ""


def raw_panel(reader: RecordReader, subscription: Subscription, now: int) -> dict[str, Any]:
    """The context of the dialog that shows the evaluation as JSON."""
    del now
    evaluation = reader.evaluation(subscription.key)
    if evaluation is None:
        return _collected(reader, subscription.key)
    return {"raw": raw(evaluation, tuple(reader.lifecycle(subscription.key)))}


def raw(evaluation: Evaluation, steps: Sequence[LifecycleStep]) -> str:
    """The evaluation and its steps as JSON, complete."""
    whole = msgspec.json.encode(evaluation)[:-1] + b',"Lifecycle":' + msgspec.json.encode(steps)
    return msgspec.json.format(whole + b"}", indent=2).decode()


def _tombstone(reader: RecordReader, viewer: Viewer, eval_id: str) -> dict[str, Any]:
    context = _collected(reader, eval_id)
    if context["evaluation"] is None or not viewer.sees(context["evaluation"].namespace):
        raise Absent
    return {
        **context,
        **_chain(reader, eval_id),
        "http_status": 404,
        "live_topics": f"chain:{eval_id}",
    }


def _collected(reader: RecordReader, eval_id: str) -> dict[str, Any]:
    """What a stub still says."""
    stub = reader.evaluation_stub(eval_id)
    steps = tuple(reader.lifecycle(eval_id))
    return {
        "evaluation": stub,
        "is_collected": True,
        # A stub keeps its evaluation's own times; only the step itself says when it was taken.
        "collected_at": next((step.at for step in steps if step.step is Step.DELETED), 0),
        "crumbs": _crumbs(stub) if stub else [],
        "page_index": reader.index,
        "raw": raw(stub, steps) if stub else "",
        "has_raw": stub is not None,
    }


def _crumbs(evaluation: Evaluation) -> list[dict[str, str]]:
    return crumbs(
        ("Evaluations", "/evaluations/"),
        (evaluation.job_id, f"/evaluations/?{urlencode({'job': evaluation.job_id})}"),
        (evaluation.id[:8], ""),
    )


def _made(siblings: Iterable[Evaluation], eval_id: str) -> tuple[MadeEvaluation, ...]:
    return tuple(
        MadeEvaluation(id=item.id, trigger=item.triggered_by, at=item.create_time)
        for item in siblings
        if made_by(item, eval_id)
    )


def _chain(reader: RecordReader, eval_id: str) -> dict[str, Any]:
    layout = ChainLayout(f"chain-{eval_id}", selected=eval_id)
    chain = chain_of(reader, eval_id)
    layout.update(members_of(chain, newest_steps(reader, chain)))
    graph = layout.graph()
    return {
        "chain": graph,
        "chain_mermaid": graph_mermaid(graph, says_states=True),
        "tree": chain_tree(layout),
        "chain_size": len(layout.members),
    }
