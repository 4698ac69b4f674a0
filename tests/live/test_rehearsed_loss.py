"""Nodes are rehearsed to fall silent, then they do: the story says what went as it was named."""

import re
import signal
import time
from collections import Counter

import pytest
from playwright.sync_api import expect

from scheduler.watchers.heartbeats import TOGETHER
from tests.live.fleet_process import FleetProcess
from tests.live.world import MOCK, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: Fleets of their own, by seed: those that stay, and those that are lost.
STAY, GO = 31, 32
NODES = {STAY: 5, GO: 3}
LOST = f"sim-{GO}-"
#: Enough work that each node has some of each job.
JOBS, COUNT = ("lost-a", "lost-b", "lost-c"), 8
REHEARSED = re.compile(r"/what-if/([0-9a-f-]{36})/")


@pytest.fixture(scope="module")
def fleets(world):
    """Two fleets with work on all of their nodes, and on no others."""
    running = {}
    try:
        for seed, nodes in NODES.items():
            fleet = FleetProcess(world.stack, nodes=nodes, cpu=4000, memory=4096, seed=seed)
            running[seed] = fleet
            fleet.start()
        until(lambda: len(of_fleets(world, "ready")) == sum(NODES.values()), "ready nodes", 60)
        here = {
            "LTarget": "${node.unique.name}", "RTarget": f"^sim-({STAY}|{GO})-",
            "Operand": "regexp",
        }  # fmt: skip
        apart = {"Attribute": "${node.unique.id}", "Weight": 100}
        for name in JOBS:
            world.register(job(name, count=COUNT, task=MOCK, Constraints=[here], Spreads=[apart]))
            world.running(name, COUNT)
        yield running
    finally:
        for name in JOBS:
            world.purge(name)
        for fleet in running.values():
            fleet.end(signal.SIGTERM)
            fleet.log.close()
        for node in of_fleets(world):
            assert world.api.put(f"/v1/node/{node['ID']}/purge").is_success


def of_fleets(world, *statuses):
    return [
        node
        for node in world.get("nodes")
        if node["Name"].startswith(tuple(f"sim-{seed}-" for seed in NODES))
        and (not statuses or node["Status"] in statuses)
    ]


def places(world):
    """Job and node of everything that runs there now."""
    return Counter(
        (name, alloc["NodeName"]) for name in JOBS for alloc in world.allocations(name, "running")
    )


def is_quiet(world):
    """Whether the last loss is so long ago that the next one is a story of its own.

    Nodes of it that came back count as well, and are not told with a time: hence some more.
    """
    quiet = (TOGETHER + 15) * 1_000_000_000
    losses = world.get("stories?kind=loss")
    return all(time.time_ns() - story["ModifyTime"] > quiet for story in losses)


def test_a_loss_is_told_beside_its_rehearsal(world, visitor, page, fleets):
    until(lambda: is_quiet(world), "losses of other tests to be over", 100)
    visitor.sign_in(world)
    visitor.open("/what-if/")
    losing = page.get_by_role("group", name="Change 1")
    losing.get_by_label("Where").select_option(label="filter expression")
    losing.get_by_label("is", exact=True).fill(f'Name matches "^{LOST}"')
    page.get_by_role("button", name="Rehearse", exact=True).click()
    expect(page).to_have_url(REHEARSED)
    found = REHEARSED.search(page.url)
    assert found is not None
    result = until(lambda: world.get(f"rehearsal/{found[1]}")["Result"], "its result", 60)
    assert [node["Fate"] for node in result["Nodes"]].count("lost") == NODES[GO]
    named = [each for each in result["Allocations"] if each["ToNodeName"]]
    assert {each["JobID"] for each in named} == {*JOBS}

    page.get_by_role("link", name="As a story").click()
    expect(page.locator("h1")).to_contain_text("Lose nodes with Name")
    expect(page.locator("h1")).to_contain_text("rehearsed")
    drawn = page.locator("[data-graph]").first
    expect(drawn).to_contain_text(f"{len(JOBS)} jobs")
    expect(drawn).to_contain_text(f"{len(named)} placed")

    before = {alloc["ID"] for name in JOBS for alloc in world.allocations(name)}
    fleets[GO].end(signal.SIGKILL)
    until(lambda: len(of_fleets(world, "down")) == NODES[GO], "the nodes are down", 40)
    for name in JOBS:
        world.running(name, COUNT)
    (loss,) = [
        story for story in world.get("stories?kind=loss") if story["CreateIndex"] > result["Index"]
    ]
    assert loss["NodeCount"] == NODES[GO]

    done = Counter(
        (name, alloc["NodeName"])
        for name in JOBS
        for alloc in world.allocations(name, "running")
        if alloc["ID"] not in before
    )
    rehearsed = Counter((each["JobID"], each["ToNodeName"]) for each in named)
    same = (rehearsed & done).total()
    assert done.total() == len(named)
    assert not any(node.startswith(LOST) for _, node in places(world))
    visitor.open(f"/stories/{loss['ID']}/")
    told = page.locator("#story-compared")
    expect(told).to_contain_text(f"{same} of {len(named)} allocations went as rehearsed.")
    expect(told.get_by_text("as rehearsed", exact=True)).to_have_count(same)
    differ = len(named) - same
    expect(told.get_by_text("differs here", exact=True)).to_have_count(differ)
    # Several workers decide about a loss side by side, so not all need be where they were named.
    assert same >= len(named) // 2


def test_the_story_is_played_back_step_by_step_and_shared(world, visitor, page, fleets):
    newest = max(world.get("stories?kind=loss"), key=lambda story: story["CreateIndex"])
    address = f"/stories/{newest['ID']}/"
    visitor.open(address)
    track = page.get_by_role("slider", name="Replay position")
    last = int(track.get_attribute("max") or 0)
    assert last >= 3
    expect(track).to_have_value(str(last))
    past = page.locator("#story-past")

    page.keyboard.press("[")
    expect(track).to_have_value(str(last - 1))
    expect(past).to_contain_text("You see the past")
    expect(page).to_have_url(re.compile(r"[?&]at=\d+"))
    page.keyboard.press("[")
    expect(track).to_have_value(str(last - 2))
    page.keyboard.press("]")
    expect(track).to_have_value(str(last - 1))

    # The first moment, shared: whoever opens its address sees the same of it.
    track.fill("0")
    expect(page.locator("#story-where")).to_contain_text("1 of ")
    expect(track).to_have_attribute("aria-valuetext", re.compile("^event 1 of "))
    expect(page.locator("#story-head")).to_contain_text("lost")
    index = re.compile(r"as they were at index ([\d\s\N{NO-BREAK SPACE}\N{THIN SPACE}\u202f]+)\.")
    shown = index.search(past.inner_text())
    assert shown is not None
    told = page.locator("main .sentence").first.inner_text()
    shared = page.url
    visitor.open(shared)
    expect(page.locator("main .sentence").first).to_have_text(told)
    expect(past).to_contain_text(shown[0])
    assert shared.endswith(f"at={re.sub(r'[^0-9]', '', shown[1])}")

    # A hundred times as fast as it was, to its end.
    page.get_by_text("100\N{MULTIPLICATION SIGN}").click()
    page.get_by_role("button", name="Play from here").click()
    expect(track).to_have_value(str(last))
    expect(page.get_by_role("button", name="Play from here")).to_be_visible()
    visitor.pictures("replay-at-its-end")
    page.get_by_role("link", name="Go to the end").first.click()
    expect(page).to_have_url(re.compile(re.escape(address) + r"\??$"))
    expect(past).to_be_hidden()
