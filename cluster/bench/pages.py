"""What every page costs on a large record, in a real browser.

A record of 5,000 nodes and 50,000 allocations loses 1,000 nodes: one story of 10,000 evaluations,
which the real leader and workers work off before anything is measured. Each page is loaded four
times by a signed-in administrator; the first time only warms it, and the middle of the others
counts. `server` is the wait for the first byte, `painted` from the end of the HTML to the first
content drawn, `interactive` from there until every script has run.
"""

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from django.conf import settings

from cluster.bench.browser import signed_in
from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.page_budgets import PAGES, named
from cluster.bench.pages_record import OF_A_NODE, chain_name, volume_name
from cluster.bench.rehearse_record import OF_A_JOB
from cluster.bench.scenario import Figures, Options, WrongCount
from cluster.bench.stack import Stack
from cluster.bench.target import Target

#: With the node that its cause is, a chain of 500.
NODES, LOST, CHAIN = 5_000, 1_000, 499
_LOADS = 3
_VARIABLE = "nomad/jobs/job-0"
_KB = 1024
_SETTLE_S = 1_200
#: The nodes of the record have no agents, and must not fall silent.
_NO_SILENCE = {"BIVOUAC_HEARTBEAT_GRACE": "3600", "BIVOUAC_FAILOVER_HEARTBEAT_TTL": "86400"}
_FILL = "import django; django.setup(); from cluster.bench.pages_record import main; main()"
_LOOK = """async () => {
  await new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)));
  const [way] = performance.getEntriesByType("navigation");
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  // On a busy machine the browser may say it later than the frame itself.
  while (!painted()) await new Promise(done => setTimeout(done, 20));
  const first = painted();
  const drawn = [...document.querySelectorAll("[data-graph]")];
  return {
    server: way.responseStart - way.requestStart,
    painted: Math.max(0, first.startTime - way.responseEnd),
    interactive: Math.max(0, way.domContentLoadedEventEnd - way.responseEnd),
    html: way.decodedBodySize,
    elements: document.getElementsByTagName("*").length,
    drawn: Math.max(0, ...drawn.map(each => each.querySelectorAll(".graph-node").length)),
    scripts: performance.getEntriesByType("resource")
      .map(each => each.name).filter(name => new URL(name).pathname.endsWith(".js")),
  };
}"""


def run(options: Options) -> Figures:
    """Fill a record, let a cluster settle on it, and look at every page."""
    if options.address:
        raise WrongCount("pages needs a cluster of its own: leave --addr out")
    nodes, lost = options.scaled(NODES), options.scaled(LOST)
    if nodes < OF_A_JOB:
        raise WrongCount(f"pages needs {OF_A_JOB} nodes, a --scale of {OF_A_JOB / NODES:g}")
    with tempfile.TemporaryDirectory(prefix="bivouac-pages-") as directory:
        environment = {**_NO_SILENCE, **options.environment}
        command = [sys.executable, "-c", _FILL, str(nodes), str(lost), str(CHAIN)]
        subprocess.run(  # noqa: S603 - our own program
            command,
            env={**os.environ, **environment, "BIVOUAC_DATA_DIR": directory},
            check=True,
            cwd=settings.BASE_DIR,
        )
        stack = Stack(workers=options.workers, environment=environment, data_dir=Path(directory))
        with stack:
            aim = Target(stack.address, stack.token, "", stack)
            aim.until_quiet(_SETTLE_S)
            figures = {"nodes": float(nodes), "lost": float(lost)}
            with closing(aim.connect()) as connection:
                ids = _ids(aim, connection)
                figures["evaluations"] = float(
                    connection.get("/v1/evaluations/count?namespace=*")["Count"]
                )
            aim.until_quiet(_SETTLE_S)
            with signed_in(stack.address, stack.login_link) as context:
                for page in PAGES:
                    figures |= _measured(context, page, ids)
    if figures["evaluations"] < lost * OF_A_NODE:
        raise WrongCount(f"{figures['evaluations']:g} evaluations, {lost * OF_A_NODE} were made")
    return figures


def _ids(aim: Target, connection: Connection) -> dict[str, str]:
    """One of everything that has a page of its own, as large as it comes."""
    stories = connection.get("/v1/stories?namespace=*")
    loss = next(each for each in stories if each["Kind"] == "loss")
    waiting = {**job_form("waiting", cpu=10_000_000), "Type": "service"}
    connection.put("/v1/jobs", {"Job": waiting})
    rolled = {**job_form("rolled", cpu=10), "Type": "service", "Update": {"MaxParallel": 1}}
    connection.put("/v1/jobs", {"Job": rolled})
    connection.put("/v1/quota", {"Name": "team", "Limits": []})
    connection.put(f"/v1/var/{_VARIABLE}", {"Items": {"user": "team", "password": "some"}})
    asked = connection.put("/v1/rehearsals", {"Stop": {"JobID": "job-0"}})
    aim.until(
        lambda: connection.get(f"/v1/rehearsal/{asked['ID']}")["Status"] == "complete",
        "a rehearsal that has ended",
        _SETTLE_S,
    )
    alloc = next(iter(connection.get("/v1/job/job-0/allocations")))
    node = next(
        each for each in connection.get("/v1/nodes?per_page=2000") if each["Status"] == "ready"
    )
    staged = connection.put("/v1/drains", {"NodeIDs": [node["ID"]], "AtOnce": 1})
    return {
        "story": loss["ID"],
        "evaluation": connection.get("/v1/job/job-1/evaluations")[0]["ID"],
        "chain": chain_name(CHAIN // 2),
        "job": "job-0",
        "allocation": alloc["ID"],
        "node": node["ID"],
        "quota": "team",
        "variable": _VARIABLE,
        "volume": volume_name(0),
        "policy": connection.get("/v1/acl/policies")[0]["Name"],
        "rehearsal": asked["ID"],
        "staged": staged["ID"],
        **_later(connection),
    }


def _later(connection: Connection) -> dict[str, str]:
    """What a moment brings: the evaluation that waits, the deployment of the rollout."""
    waiting = connection.get("/v1/job/waiting/evaluations")
    deployments = connection.get("/v1/job/rolled/deployments")
    return {"waiting": waiting[0]["ID"], "deployment": deployments[0]["ID"]}


def _measured(context: Any, page: str, ids: Mapping[str, str]) -> Figures:
    path = page.format(**ids)
    opened = context.new_page()
    looks = []
    for _ in range(1 + _LOADS):
        answer = opened.goto(path)
        if answer is None or not answer.ok:
            told = opened.locator("main").inner_text() if answer is not None else ""
            raise WrongCount(f"{path} answers {answer and answer.status}: {told}")
        opened.wait_for_load_state("load")
        looks.append(opened.evaluate(_LOOK))
    scripts = sum(_packed(context, name) for name in looks[-1]["scripts"])
    opened.close()
    middle = {
        name: statistics.median(look[name] for look in looks[1:])
        for name in ("server", "painted", "interactive", "html", "elements", "drawn")
    }
    middle |= {"html": middle["html"] / _KB, "scripts": scripts / _KB}
    return {named(page, name): value for name, value in middle.items()}


def _packed(context: Any, address: str) -> int:
    """What a script weighs on its way, whatever the server of this bench does."""
    return len(gzip.compress(context.request.get(address).body(), 6))
