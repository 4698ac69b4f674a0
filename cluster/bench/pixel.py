"""How long a commit takes to be drawn in a real browser, with one viewer (ui.md 2.6).

List: jobs are registered at a steady pace; the row of each evaluation, in each of its states, is
waited for on the page that lists them. Graph: one evaluation at a time is watched on its own page,
until its lifecycle graph shows that it is complete. The one clock is ours.
"""

from contextlib import closing
from typing import Any

from cluster.bench.browser import WatchedPage, signed_in
from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.moments import Moments
from cluster.bench.paces import BUSY, CALM, Pace, register_at
from cluster.bench.scenario import Figures, Options, passive, percentile, require, target
from cluster.bench.target import Target
from cluster.fleet.blueprint import FleetOptions
from cluster.runtime.clock import SystemClock

NODES = 50
SECONDS = 20
GRAPHS = 15
_WARM_UP = 20
_SETTLE_S = 60
_CLOCK = SystemClock()


def run(options: Options) -> Figures:
    """Measure both paces on the list, then single evaluations on their graphs."""
    fleet = FleetOptions(nodes=NODES, cpu=(64_000,), memory=(131_072,))
    with target(options) as aim, passive(aim, fleet):
        moments = Moments(aim)
        assert aim.stack is not None, "Moments refuses other clusters"
        aim.until_quiet(_SETTLE_S)
        aim.register([job_form(f"warm-{number}") for number in range(_WARM_UP)])
        aim.until_quiet(_SETTLE_S)
        with signed_in(aim.address, aim.stack.login_link) as context:
            figures: Figures = {"nodes": NODES}
            for pace in (CALM, BUSY):
                figures |= _list(aim, moments, context, pace, SECONDS * options.scale)
            figures |= _graph(aim, moments, context, options.scaled(GRAPHS))
    return figures


def _list(aim: Target, moments: Moments, context: Any, pace: Pace, seconds: float) -> Figures:
    name = pace.name
    watched = WatchedPage(context.new_page())
    watched.open("/evaluations/", "#evaluation-rows")
    since = moments.index()
    began = _CLOCK.monotonic()
    sent = register_at(pace, aim, seconds)
    aim.until_quiet(_SETTLE_S)
    took = _CLOCK.monotonic() - began
    written = moments.evaluations(since)
    last = max((key for key in written if key[1] == "complete"), key=lambda key: written[key])
    watched.wait_for(*last)
    drawn = watched.drawn()
    commits = moments.commits(since)
    ended = [key for key in written if key[1] == "complete"]
    require(f"evaluations complete, {name}", len(ended), sent)
    require(f"evaluations drawn complete, {name}", sum(key in drawn for key in ended), sent)
    spans = [drawn[key] - at / 1e6 for key, at in written.items() if key in drawn]
    doubt = watched.doubt_ms()
    watched.page.close()
    return {
        f"{name}_commits_per_s": len(commits) / took,
        f"{name}_rows_per_s": sum(sum(commit.rows.values()) for commit in commits) / took,
        f"{name}_transitions_drawn": len(spans),
        # Two states between two frames: only the later one is ever shown.
        f"{name}_transitions_overtaken": len(written) - len(spans),
        **_shares(f"{name}_list", spans),
        f"{name}_clock_doubt_ms": doubt,
    }


def _graph(aim: Target, moments: Moments, context: Any, count: int) -> Figures:
    watched = WatchedPage(context.new_page())
    spans, doubts = [], []
    since = moments.index()
    with closing(aim.connect()) as connection:
        for number in range(count):
            # Nobody takes the evaluation up before its page is there.
            _pause(connection, paused=True)
            form = job_form(f"graph-{number}", cpu=10)
            eval_id = connection.put("/v1/jobs", {"Job": form})["EvalID"]
            watched.open(f"/evaluations/{eval_id}/", "[data-graph^='life-']")
            _pause(connection, paused=False)
            watched.wait_for("complete", "complete")
            at = moments.evaluations(since)[eval_id, "complete"]
            spans.append(watched.drawn()["complete", "complete"] - at / 1e6)
            doubts.append(watched.doubt_ms())
    watched.page.close()
    return {"graphs": count, **_shares("graph", spans), "graph_clock_doubt_ms": max(doubts)}


def _pause(connection: Connection, *, paused: bool) -> None:
    path = "/v1/operator/scheduler/configuration"
    settings = connection.get(path)["SchedulerConfig"]
    connection.put(path, settings | {"PauseEvalBroker": paused})


def _shares(name: str, spans: list[float]) -> Figures:
    shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
    return {f"{name}_{word}_ms": percentile(spans, share) for word, share in shares.items()}
