"""Text of jobs, nodes and agents is text: in pages, live frames, the admin and Mermaid."""

import json
from html.parser import HTMLParser
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings

from dashboard.graphs.mermaid import escaped
from dashboard.live.hub import HUB
from dashboard.live.source import StoreFrames
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.state.writes.jobs import write_job
from scheduler.structs.alloc_metric import AllocMetric
from scheduler.structs.allocation import ClientStatus, TaskEvent, TaskState
from scheduler.structs.deployment import Deployment, GroupRollout
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.node import LastDrain, NodeEvent
from tests.builders import (
    SOME_MOMENT,
    FixedClock,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task,
    make_task_group,
)
from tests.cluster.api.clients import NOW
from tests.security.test_doors import answers
from tests.security.world import addresses, samples

EVIL = (
    "\"'><img src=x onerror=alert(1)><svg onload=alert(2)><script>alert(3)</script>"
    "</script><style>*{}</style><a href=javascript:alert(4)>x</a>{{7*7}}{%x%}<!--]]>`${x}"
)
JOB_ID = "\"'><img/src=x/onerror=alert(5)><script>alert(6)</script>"
MERMAID = (
    'x"]\nclick e1 href "javascript:alert(7)"\n%%{init:{"securityLevel":"loose"}}%%<img/src=x>'
)
ROLLOUT = "d0"
FORBIDDEN_TAGS = {"img", "style", "iframe", "object", "embed", "base"}


def rollout_of(job):
    group = GroupRollout(desired_total=2, desired_canaries=1, unhealthy_allocs=1)
    return Deployment(
        id=ROLLOUT, job_id=job.id, job_create_index=job.create_index,
        status_description=EVIL, task_groups={MERMAID: group, EVIL: group},
    )  # fmt: skip


class Reading(HTMLParser):
    """Everything active in a text."""

    def __init__(self):
        super().__init__()
        self.active = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in FORBIDDEN_TAGS and not values.get("src", "").startswith("/static/"):
            self.active.append((tag, attrs))
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.active.append((tag, attrs))
        for name, value in attrs:
            address = (value or "").strip().lower()
            if name.startswith("on") or address.startswith(("javascript:", "data:text")):
                self.active.append((tag, name, value))


def active_in(text):
    reading = Reading()
    reading.feed(text)
    reading.close()
    return reading.active


@pytest.fixture
def poisoned(store):
    """A job, node, evaluation and allocation whose every free text attacks; samples of routes."""
    node = make_node(
        1,
        name=EVIL,
        node_class=EVIL,
        datacenter=EVIL,
        attributes={EVIL: EVIL, "driver.mock_driver": "1", "os.name": EVIL},
        meta={EVIL: EVIL},
        links={EVIL: EVIL},
        status_description=EVIL,
        last_drain=LastDrain(
            started_at=NOW, updated_at=NOW, status="complete", accessor_id=EVIL, meta={EVIL: EVIL}
        ),
        events=(NodeEvent(message=EVIL, subsystem=EVIL, details={EVIL: EVIL}, timestamp=NOW),),
    )
    task = make_task(name=EVIL, env={EVIL: EVIL}, config={EVIL: EVIL}, meta={EVIL: EVIL})
    group = make_task_group(name=MERMAID, tasks=(task,), meta={EVIL: EVIL})
    held = {}

    def work(change):
        job = write_job(
            change,
            make_job(
                id=JOB_ID, name=EVIL, meta={EVIL: EVIL}, task_groups=(group,),
                status_description=EVIL, datacenters=(EVIL,),
            ),
        )  # fmt: skip
        failed = AllocMetric(
            nodes_evaluated=1, nodes_filtered=1, constraint_filtered={EVIL: 1},
            class_filtered={EVIL: 1}, dimension_exhausted={EVIL: 1},
        )  # fmt: skip
        evaluation = make_evaluation(
            1, job_id=JOB_ID, status_description=EVIL, triggered_by="job-register",
            node_id=node.id, failed_task_groups={MERMAID: failed}, status=EvalStatus.FAILED,
        )  # fmt: skip
        event = TaskEvent(
            type=EVIL, time=NOW, message=EVIL, display_message=EVIL, details={EVIL: EVIL}
        )
        alloc = make_allocation(
            job, 1, node_id=node.id, node_name=EVIL, eval_id=evaluation.id,
            client_description=EVIL, desired_description=EVIL, client_status=ClientStatus.FAILED,
            task_states={EVIL: TaskState(state="dead", failed=True, events=(event,))},
        )  # fmt: skip
        put_found(change, node)
        put_found(change, evaluation)
        put_found(change, alloc)
        put_found(change, rollout_of(job))
        for number, step in enumerate((Step.ENQUEUED, Step.DEQUEUED, Step.NACKED), 1):
            change.put(LIFECYCLE_STEPS,
                LifecycleStep(
                    eval_id=evaluation.id, number=number, step=step, at=SOME_MOMENT + number,
                    actor=EVIL, reason=EVIL, index=change.index,
                )
            )  # fmt: skip
        held.update(node=node, evaluation=evaluation, alloc=alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=NOW)
    world = SimpleNamespace(
        node=node,
        evaluations={"default": held["evaluation"]},
        allocations={"default": held["alloc"]},
    )
    rollout = {"deployment_id": ROLLOUT}
    return samples(world) | {"job_id": quote(JOB_ID, safe="")} | rollout


async def test_no_page_takes_text_for_markup(poisoned, site, staff):
    where = [path for path in addresses(poisoned) if not path.startswith("/v1/")]
    where += [f"/search/?q={quote(EVIL)}", f"/jobs/?prefix={quote(EVIL)}&filter={quote(EVIL)}",
              f"/evaluations/?status={quote(EVIL)}&job={quote(EVIL)}", f"/{quote(EVIL)}/",
              f"/deployments/?q={quote(EVIL)}&namespace={quote(EVIL)}",
              f"/nodes/?prefix={quote(EVIL)}&status={quote(EVIL)}", f"/login/?next={quote(EVIL)}",
              f"/jobs/new/?example={quote(EVIL)}", f"/admin/?next={quote(EVIL)}"]  # fmt: skip
    async with site(cookies=staff.cookies, follow_redirects=True) as client:
        found = await answers(client, where, ("GET",))
    faults = {path: r.status_code for (_, path), r in found.items() if r.status_code >= 500}
    assert faults == {}
    active = {
        path: found_here
        for (_, path), response in found.items()
        if response.headers.get("content-type", "").startswith("text/html")
        and (found_here := active_in(response.text))
    }
    assert active == {}
    shown = "".join(response.text for response in found.values())
    assert shown.count("&lt;img") > 10, "the texts are on the pages"


@pytest.mark.parametrize(
    "followed",
    [
        pytest.param(
            ["overview", "jobs", "nodes", "evaluations", "allocations", "drains"], id="lists"
        ),
        pytest.param(["topology", "deployments", f"deployment:{ROLLOUT}"], id="newer"),
    ],
)
async def test_no_live_frame_takes_text_for_markup(poisoned, store, staff, followed):
    from cluster.asgi import application

    HUB.wire(StoreFrames(store), FixedClock())
    topics = ",".join(
        [*followed, f"node:{poisoned['node_id']}", f"evaluation:{poisoned['eval_id']}",
         f"chain:{poisoned['eval_id']}", f"allocation:{poisoned['alloc_id']}"]
    )  # fmt: skip
    cookies = "; ".join(f"{name}={value}" for name, value in staff.cookies.items())
    origin = settings.CSRF_TRUSTED_ORIGINS[0].encode()
    headers = [(b"origin", origin), (b"cookie", cookies.encode())]
    socket = WebsocketCommunicator(application, f"/live?index=0&topics={topics}", headers)
    assert (await socket.connect(60))[0]
    pieces, texts = [], ""
    # Of the topics the first may hold none of the texts.
    while ("alert(" not in texts or len(pieces) < 25) and not (
        pieces and await socket.receive_nothing(1.0 if "alert(" in texts else 20.0)
    ):
        text = await socket.receive_from(60)
        texts += text
        pieces += json.loads(text).get("pieces", ())
    await socket.disconnect()
    assert "alert(" in texts, "the texts are in the frames"
    found = [piece["html"] for piece in pieces if "html" in piece]
    markup = [
        each for html in found for each in (html.values() if isinstance(html, dict) else [html])
    ]
    assert [active for active in map(active_in, markup) if active] == []


async def test_mermaid_text_holds_no_syntax_of_others(poisoned, site, staff):
    async with site(cookies=staff.cookies) as client:
        response = await client.get(f"/chains/{poisoned['eval_id']}.mmd")
        page = await client.get(f"/evaluations/{poisoned['eval_id']}/")
    assert response.status_code == 200
    assert not response.headers["content-type"].startswith("text/html")
    for line in response.text.splitlines():
        assert not line.lstrip().startswith(("click", "%%{", "href", "callback")), line
        assert "<img" not in line
        assert "javascript:" not in line
    assert page.status_code == 200


@pytest.mark.parametrize(
    "text", [EVIL, MERMAID, 'end"', "%%{init}%%", "a\u2028b", "#quot;", "`x`"]
)
def test_an_escaped_label_has_no_mark_that_means_something(text):
    assert not set('"<>{}[]`%;|\\\n\u2028') & set(escaped(text).replace(";", "", 10_000))
