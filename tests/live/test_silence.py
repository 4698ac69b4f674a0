"""The web process is away for longer than nodes may be silent: no node is blamed for it."""

import contextlib
import signal
import time
from collections.abc import Iterator

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet
from tests.live.side_process import until
from tests.live.world import MOCK, World, job

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: A node is told a TTL between this and twice this.
TTL_S, GRACE_S = 1.0, 4.0
SILENCE = {"BIVOUAC_MIN_HEARTBEAT_TTL": str(TTL_S), "BIVOUAC_HEARTBEAT_GRACE": str(GRACE_S)}
#: Longer than any node may be silent.
AWAY_S = 2 * TTL_S + GRACE_S + 3
NODES = 3


@contextlib.contextmanager
def busy_world() -> Iterator[World]:
    """A stack with a few simulated nodes that run a job each."""
    with (
        Stack(environment=SILENCE) as stack,
        fleet(stack, nodes=NODES, cpu=4000, memory=8192) as nodes,
    ):
        world = World(stack)
        world.nodes = nodes
        try:
            world.register(job("steady", count=NODES, task=MOCK))
            world.running("steady", NODES)
            yield world
        finally:
            world.api.close()


@pytest.fixture(scope="module")
def world():
    """For tests after which it is as it was before."""
    with busy_world() as world:
        yield world


def freeze(stack: Stack) -> None:
    """It holds its breath."""
    stack.kill("web", signal.SIGSTOP)
    time.sleep(AWAY_S)
    stack.kill("web", signal.SIGCONT)


def kill_again_and_again(stack: Stack) -> None:
    """`up` starts it anew each time, later from time to time."""
    deadline = time.monotonic() + AWAY_S
    while time.monotonic() < deadline:
        killed = stack.kill("web")
        until(lambda killed=killed: stack.pids["web"] != killed, 20, "another web process")


def wrongs(world: World) -> dict[str, int]:
    """What must not be: nodes that are not ready, and evaluations because of nodes."""
    nodes = [node["Status"] for node in world.get("nodes")]
    triggers = [item["TriggeredBy"] for item in world.get("evaluations")]
    events = [
        event["Message"]
        for node in world.get("nodes")
        for event in world.get(f"node/{node['ID']}")["Events"]
    ]
    return {
        "not ready": NODES - nodes.count("ready"),
        "node-update": triggers.count("node-update"),
        "missed": events.count("Node heartbeat missed"),
    }


@pytest.mark.parametrize(
    "befall", [pytest.param(freeze, id="frozen"), pytest.param(kill_again_and_again, id="killed")]
)
def test_no_node_goes_down_because_the_web_process_was_away(world, befall):
    before = wrongs(world)
    assert before["not ready"] == before["missed"] == 0
    befall(world.stack)
    until(lambda: world.api.get("/v1/nodes", timeout=2).is_success, 20, "the API answers again")
    # As long again as any node may be silent: whoever is to be missed is missed by now.
    deadline = time.monotonic() + AWAY_S
    while time.monotonic() < deadline:
        assert wrongs(world) == before
        time.sleep(0.5)


def test_the_agents_channel_comes_back_soon_after_the_web_process(world):
    alloc_id = world.allocations("steady", "running")[0]["ID"]
    path = f"/v1/client/allocation/{alloc_id}/stats"

    def status() -> int:
        with contextlib.suppress(httpx.HTTPError):
            return world.api.get(path, timeout=2).status_code
        return 0

    world.stack.kill("web")
    until(lambda: status() != 0, 30, "the API answers again")
    # A second at most between two tries; the rest is for a busy machine.
    until(lambda: status() == httpx.codes.OK, 10, "the channel is open again")


def test_nodes_that_died_beside_a_living_web_process_go_down_in_time():
    with busy_world() as world:
        world.nodes.end(signal.SIGKILL)

        def are_down() -> bool:
            return [node["Status"] for node in world.get("nodes")] == ["down"] * NODES

        # Their time, a second for writing beats and looking at them, the rest for a busy machine.
        until(are_down, 2 * TTL_S + GRACE_S + 1 + 10, "they are down")
        world.evaluation("steady", "node-update")
