"""Jobs sent to a running cluster, and what became of them."""

import time
from collections import Counter
from typing import NamedTuple

import httpx

from cluster.bench.job_forms import job_form
from cluster.bench.stack import Stack
from tests.live.world import PATIENCE

ENDS = frozenset({"complete", "failed", "canceled"})


class Submission(NamedTuple):
    """One job of one allocation; `status` 0: nobody answered."""

    job: str
    status: int
    eval_id: str
    took_s: float


def submit(stack: Stack, prefix: str, count: int, pause_s: float = 0.02) -> list[Submission]:
    with stack.client() as client:
        return [_submit(client, f"{prefix}-{number}", pause_s) for number in range(count)]


def _submit(client: httpx.Client, name: str, pause_s: float) -> Submission:
    time.sleep(pause_s)
    began = time.monotonic()
    try:
        answer = client.put("/v1/jobs", json={"Job": job_form(name)}, timeout=10)
    except httpx.HTTPError:
        return Submission(name, 0, "", time.monotonic() - began)
    eval_id = answer.json()["EvalID"] if answer.status_code == httpx.codes.OK else ""
    return Submission(name, answer.status_code, eval_id, time.monotonic() - began)


def unfinished(stack: Stack, submissions: list[Submission]) -> dict[str, str]:
    """Acknowledged jobs whose evaluation is not complete or that do not run exactly once."""
    with stack.client() as client:
        evaluations = client.get("/v1/evaluations").json()
        allocations = client.get("/v1/allocations").json()
    statuses = {evaluation["ID"]: evaluation["Status"] for evaluation in evaluations}
    live = Counter(
        alloc["JobID"]
        for alloc in allocations
        if alloc["DesiredStatus"] == "run" and alloc["ClientStatus"] in {"pending", "running"}
    )
    return {
        sent.job: f"{live[sent.job]} live, evaluation {statuses.get(sent.eval_id)}"
        for sent in submissions
        if sent.eval_id and (live[sent.job], statuses.get(sent.eval_id)) != (1, "complete")
    }


def wait_until_finished(stack: Stack, submissions: list[Submission], limit_s: float) -> None:
    """Until every acknowledged job runs exactly once."""
    began = time.monotonic()
    left = unfinished(stack, submissions)
    while left and time.monotonic() - began < PATIENCE * limit_s:
        time.sleep(0.1)
        left = unfinished(stack, submissions)
    assert left == {}


def ended_other_than_once(stack: Stack, submissions: list[Submission]) -> dict[str, list[str]]:
    """Evaluations whose recorded life has no end, or several."""
    found = {}
    with stack.client() as client:
        for sent in submissions:
            if sent.eval_id:
                steps = client.get(f"/v1/evaluation/{sent.eval_id}/lifecycle").json()
                names = [step["Step"] for step in steps]
                if sum(name in ENDS for name in names) != 1:
                    found[sent.job] = names
    return found
