"""Which parts of which pages are kept current, by what. Wiring only."""

from functools import partial
from typing import Any

from dashboard.live.rooms import register_panel, register_rows
from dashboard.queries.chain import chain_panel, chain_timeline_panel
from dashboard.queries.drains import drain_panel, drains_panel
from dashboard.queries.evaluation import decision_panel, head_panel, raw_panel
from dashboard.queries.evaluations import row_context
from dashboard.queries.nodes import node_panel
from scheduler.state.events import Topic
from scheduler.structs.evaluation import Evaluation, LifecycleStep

_PARTIALS = "dashboard/partials/"


def register() -> None:
    """Once per process that serves pages."""
    _register_evaluations()
    _register_nodes()


def _register_evaluations() -> None:
    row = f"{_PARTIALS}_evaluation_row.html"
    for kind, container in (("overview", "newest"), ("evaluations", "evaluation-rows")):
        context = partial(_evaluation_row, container=container)
        register_rows(kind, Topic.EVALUATION, container, row, context)
    told = (Topic.EVALUATION, Topic.LIFECYCLE)
    for target, template, query, watched in (
        ("evaluation-head", "_evaluation_head.html", head_panel, (*told, Topic.ALLOCATION)),
        ("decision", "_decision.html", decision_panel, (*told, Topic.ALLOCATION)),
        ("raw", "_raw.html", raw_panel, told),
    ):
        register_panel("evaluation", target, _PARTIALS + template, query, *watched)
    sentence, facts = (f"{_PARTIALS}_chain_{part}.html" for part in ("sentence", "facts"))
    for kind in ("chain", "tidy"):
        register_panel(kind, "chain-sentence", sentence, chain_panel, *told)
        register_panel(kind, "chain-rows", f"{_PARTIALS}_chain_rows.html", chain_panel, *told)
        register_panel(kind, "chain-facts", facts, chain_panel, *told)
    timeline = f"{_PARTIALS}_timeline.html"
    for target, template in (
        ("chain-sentence", sentence), ("chain-timeline", timeline), ("chain-facts", facts),
    ):  # fmt: skip
        register_panel("timeline", target, template, chain_timeline_panel, *told)


def _register_nodes() -> None:
    watched = (Topic.NODE, Topic.NODE_USE, Topic.ALLOCATION)
    for target, template in (("node-head", "_node_head.html"), ("node-body", "_node_body.html")):
        register_panel("node", target, _PARTIALS + template, node_panel, *watched)
    register_panel("drains", "drain-list", f"{_PARTIALS}_drain_list.html", drains_panel, *watched)
    watched = (Topic.NODE, Topic.ALLOCATION, Topic.EVALUATION)
    for target, template in (("drain-head", "_drain_head.html"), ("board", "_drain_board.html")):
        register_panel("drain", target, _PARTIALS + template, drain_panel, *watched)


def _evaluation_row(
    evaluation: Evaluation, now: int, newest: LifecycleStep | None, *, container: str
) -> dict[str, Any]:
    return {"container": container, **row_context(evaluation, now, newest)}
