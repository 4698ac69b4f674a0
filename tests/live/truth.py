"""What the record says, asked over the API, and that an open page says the same.

Each check takes a page as somebody has it open; none loads it again.
"""

from collections import Counter
from typing import Any

import msgspec
from playwright.sync_api import Page

from dashboard.graphs.lifecycle import EvaluationLife, MadeEvaluation, life_rows, lifecycle_graph
from scheduler.structs.evaluation import LifecycleStep
from tests.live.likeness import attributes, facts, states, texts
from tests.live.world import World

#: Rows that the lists show.
LISTED = 50


class Truth:
    """The record as it was when this was made: make it when nothing is written any more."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.evaluations = sorted(world.get("evaluations"), key=_age, reverse=True)
        self.allocations = sorted(world.get("allocations"), key=_age, reverse=True)
        self.nodes = world.get("nodes")
        self.statuses = Counter(item["Status"] for item in self.evaluations)
        self.running = [item for item in self.allocations if item["ClientStatus"] == "running"]

    def check_list(self, page: Page) -> None:
        """The newest evaluations, in order."""
        assert states(page, "#evaluation-rows tr") == _told(self.evaluations[:LISTED])
        shown = facts(page)
        counts = {state: shown[f"evaluations-{state}"] for state in self.statuses}
        assert counts == {state: str(count) for state, count in self.statuses.items()}
        assert shown["evaluations-all"] == f"{len(self.evaluations)} evaluations."

    def check_overview(self, page: Page) -> None:
        """Every count, on the map and beside it."""
        nodes = str(len(self.nodes))
        blocked = self.statuses["blocked"]
        stored = {
            "nav-jobs": str(len(self.world.get("jobs"))),
            "nav-evaluations": f"{blocked} blocked" if blocked else "",
            "nav-nodes": nodes,
            "nav-nodes-lost": "",
            "nav-drains": "",
        }
        shown = facts(page)
        assert {name: shown[name] for name in stored} == stored
        figures = dict(texts(page, ".figures > [data-key]", ".value"))
        counted = {"running": str(len(self.running)), "ready": nodes}
        assert {name: figures[name] for name in counted} == counted
        assert _counts(texts(page, "#map-list li", ".age")) == self.statuses
        drawn = texts(page, "[data-graph=map] .graph-node:has(.graph-count)", ".graph-count")
        assert _counts(drawn) == self.statuses

    def check_nodes(self, page: Page) -> None:
        """Each node with its state, and how many run there."""
        stored = {node["ID"]: node["Status"] for node in self.nodes}
        assert dict(states(page, "#node-rows tr")) == stored
        here = Counter(item["NodeID"] for item in self.running)
        assert _counts(texts(page, "#node-rows tr", "td.number")) == here

    def check_job(self, page: Page, name: str) -> None:
        """Beside the names of its parts, how many of what each tells there are."""
        counted = {
            f"job-tab-{name_of}": str(sum(item["JobID"] == name for item in rows))
            for name_of, rows in (
                ("evaluations", self.evaluations), ("allocations", self.allocations)
            )
        }  # fmt: skip
        shown = facts(page)
        assert {each: shown[each] for each in counted} == counted

    def check_job_evaluations(self, page: Page, name: str) -> None:
        """Of a job, the newest first."""
        of_job = [item for item in self.evaluations if item["JobID"] == name]
        assert states(page, "#job-evaluations tr") == _told(of_job)

    def check_job_allocations(self, page: Page, name: str) -> None:
        """Of a job, the newest first."""
        placed = [item for item in self.allocations if item["JobID"] == name]
        assert states(page, "#job-allocations tr") == _told(placed, "ClientStatus")

    def check_chain(self, page: Page, name: str) -> None:
        """Each evaluation of the job with its state, and what their links connect."""
        members = [item for item in self.evaluations if item["JobID"] == name]
        graph = '[data-graph^="chain-"]'
        drawn = dict(states(page, f"{graph} .graph-node"))
        assert {item["ID"]: drawn.get(item["ID"]) for item in members} == dict(_told(members))
        links = {
            (item["ID"], item[link])
            for item in members
            for link in ("NextEval", "BlockedEval")
            if item.get(link)
        }
        arrows = attributes(page, f"{graph} .graph-edge", "data-source", "data-target")
        assert links
        assert links <= set(arrows)

    def check_evaluation(self, page: Page, eval_id: str) -> None:
        """Every recorded step in order, and the drawing lit along them."""
        life = self._life(eval_id)
        numbers = [step.number for step in life.steps]
        assert numbers == list(range(1, len(numbers) + 1)), "no step is missing in the record"
        rows = [(str(row.number), row.state) for row in life_rows(life)]
        assert states(page, "#steps tbody tr") == rows
        moments = [str(row.at // 1_000_000) for row in life_rows(life)]
        assert attributes(page, "#steps tbody tr", "data-at") == [(at,) for at in moments]
        graph = lifecycle_graph(life)
        drawing = f'[data-graph="{graph.key}"]'
        lit = {node.key: node.state for node in graph.nodes}
        assert dict(states(page, f"{drawing} .graph-node")) == lit
        arrows = attributes(page, f"{drawing} .graph-edge", "data-key", "data-path")
        assert set(arrows) == {(edge.key, edge.path) for edge in graph.edges}
        badge = page.locator("[data-life-state] .badge")
        assert badge.get_attribute("data-state") == self._evaluation(eval_id)["Status"]

    def _evaluation(self, eval_id: str) -> dict[str, Any]:
        return next(item for item in self.evaluations if item["ID"] == eval_id)

    def _life(self, eval_id: str) -> EvaluationLife:
        steps = [
            {name: value for name, value in step.items() if value is not None}
            for step in self.world.get(f"evaluation/{eval_id}/lifecycle")
        ]
        return EvaluationLife(
            eval_id=eval_id,
            trigger=self._evaluation(eval_id)["TriggeredBy"],
            steps=msgspec.convert(steps, list[LifecycleStep]),
            made=[
                MadeEvaluation(id=item["ID"], trigger=item["TriggeredBy"], at=item["CreateTime"])
                for item in self.evaluations
                if item.get("PreviousEval") == eval_id
            ],
        )


def _age(item: dict[str, Any]) -> tuple[int, str]:
    return item["CreateIndex"], item["ID"]


def _told(items: list[dict[str, Any]], status: str = "Status") -> list[tuple[str, str]]:
    return [(item["ID"], item[status]) for item in items]


def _counts(shown: list[tuple[str, str]]) -> dict[str, int]:
    """Those that are not zero; a state without a count says nothing."""
    return {key: int(count) for key, count in shown if count not in ("", "0")}
