"""The demo as a newcomer meets it: each scenario with the facts that it promises."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings
from playwright.sync_api import Browser, expect

from cluster.bench.stack import Stack
from dashboard.tour import STOPS
from tests.live.visitor import Visitor
from tests.live.world import until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def newcomer(demo: Stack, browser: Browser) -> Iterator[Visitor]:
    """Somebody who has just opened the link."""
    visitor = Visitor(browser, demo.address)
    visitor.open(demo.login_link)
    yield visitor
    visitor.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[Stack]:
    with Stack(demo=True) as stack:
        until(lambda: len(ready(stack)) == 60, "the demo's fleet", limit_s=120)
        yield stack


def get(stack: Stack, path: str) -> list[dict[str, object]]:
    answer = httpx.get(f"{stack.address}/v1/{path}", headers={"X-Nomad-Token": stack.token})
    answer.raise_for_status()
    return answer.json()


def ready(stack: Stack) -> list[dict[str, object]]:
    return [node for node in get(stack, "nodes") if node["Status"] == "ready"]


def allocations(stack: Stack, job: str, status: str = "running") -> list[dict[str, object]]:
    return [
        each for each in get(stack, f"job/{job}/allocations") if each["ClientStatus"] == status
    ]


def begin(stack: Stack, name: str) -> str:
    told = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "demo", name],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(stack.data_dir),
        },
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return told.stdout


def test_twelve_allocations_stand_on_three_racks(demo: Stack) -> None:
    told = begin(demo, "fits")
    assert "four on each rack" in told
    # The command's own settings know no port.
    assert f"Watch it: {demo.address}/jobs/default/demo-fits/" in told
    until(lambda: len(allocations(demo, "demo-fits")) == 12, "the allocations")
    racks = {node["ID"]: node["Meta"]["rack"] for node in details(demo)}
    assert Counter(racks[each["NodeID"]] for each in allocations(demo, "demo-fits")) == {
        "r1": 4, "r2": 4, "r3": 4,
    }  # fmt: skip


def details(stack: Stack) -> list[dict[str, object]]:
    return [get(stack, f"node/{node['ID']}") for node in get(stack, "nodes")]


def test_what_is_too_big_waits(demo: Stack) -> None:
    begin(demo, "blocked")

    def waits() -> bool:
        found = get(demo, "job/demo-blocked/evaluations")
        return any(each["Status"] == "blocked" for each in found)

    until(waits, "a blocked evaluation")


def test_a_broken_version_is_gone_back_from(demo: Stack) -> None:
    begin(demo, "canary")

    def went_back() -> bool:
        statuses = [each["Status"] for each in get(demo, "job/demo-canary/deployments")]
        return "failed" in statuses and len(statuses) == 3

    until(went_back, "the failed rollout and the way back", limit_s=120)
    until(lambda: len(allocations(demo, "demo-canary")) == 6, "the version before")


def test_a_silent_node_loses_its_work_and_comes_back(demo: Stack) -> None:
    begin(demo, "silent")
    until(lambda: len(ready(demo)) == 59, "a lost node", limit_s=120)
    until(lambda: len(allocations(demo, "demo-resident")) == 60, "all work elsewhere", limit_s=60)
    until(lambda: len(ready(demo)) == 60, "the node's return", limit_s=120)


def test_a_full_rack_holds_its_drain_up(demo: Stack) -> None:
    begin(demo, "drain")

    def is_held_up() -> bool:
        """One drain has ended, the other one waits for the place of what left the first."""
        found = get(demo, "job/demo-rack/evaluations")
        draining = [node["ID"] for node in get(demo, "nodes") if node["Drain"]]
        stays = [each["NodeID"] for each in allocations(demo, "demo-rack")]
        waits = any(each["Status"] == "blocked" for each in found)
        return waits and len(draining) == 1 and draining[0] in stays and len(stays) == 19

    until(is_held_up, "the allocation that cannot move", limit_s=90)
    (story,) = get(demo, "stories?kind=drain")
    assert story["NodeCount"] == 2, "what one action drains is one story"


def test_an_urgent_job_evicts_what_is_in_its_way(demo: Stack) -> None:
    begin(demo, "preemption")
    until(lambda: len(allocations(demo, "demo-urgent")) == 20, "the urgent job", limit_s=90)
    fillers = get(demo, "job/demo-filler/allocations")
    assert any(each["PreemptedByAllocation"] for each in fillers)


def test_ten_jobs_want_one_node_and_none_has_more_than_there_is(demo: Stack) -> None:
    begin(demo, "conflict")
    rivals = [f"demo-rival-{number}" for number in range(10)]

    def settled() -> bool:
        placed = sum(len(allocations(demo, name)) for name in rivals)
        waits = sum(
            each["Status"] == "blocked"
            for name in rivals
            for each in get(demo, f"job/{name}/evaluations")
        )
        return 0 < placed < len(rivals) and placed + waits == len(rivals)

    until(settled, "some are placed, the others wait", limit_s=90)
    (node_id,) = {each["NodeID"] for name in rivals for each in allocations(demo, name)}
    use = sum(each["JobID"] in rivals for each in get(demo, f"node/{node_id}/allocations"))
    assert use == sum(len(allocations(demo, name)) for name in rivals)


def test_the_tour_leads_over_eight_pages_that_are_there(demo: Stack, newcomer: Visitor) -> None:
    newcomer.open("/")
    page = newcomer.page
    page.get_by_role("link", name="Take the tour").click()
    seen = []
    for number in range(1, 9):
        step = page.get_by_role("complementary", name="Guided tour")
        expect(step).to_contain_text(f"{number} of 8")
        seen.append(page.url.removeprefix(demo.address).partition("?")[0])
        if number < 8:
            step.get_by_role("link", name="Next").click()
    assert seen == [stop.path for stop in STOPS]
    page.get_by_role("link", name="End the tour").click()
    expect(page.get_by_role("complementary", name="Guided tour")).to_have_count(0)
    assert newcomer.problems == []


def test_a_scenario_is_begun_by_its_button_on_now(demo: Stack, newcomer: Visitor) -> None:
    begin(demo, "clear")
    until(lambda: get(demo, "jobs") == [], "no job")
    newcomer.open("/")
    newcomer.page.get_by_role("button", name="Begin: A job that fits").click()
    until(lambda: len(allocations(demo, "demo-fits")) == 12, "the allocations")
    newcomer.open("/jobs/default/demo-fits/")
    expect(newcomer.page.locator("h1")).to_contain_text("demo-fits")
    assert newcomer.problems == []


def test_clearing_up_leaves_nothing(demo: Stack) -> None:
    begin(demo, "clear")
    until(lambda: get(demo, "jobs") == [], "no job")
    until(lambda: len(ready(demo)) == 60, "every node")
