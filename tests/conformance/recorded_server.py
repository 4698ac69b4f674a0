"""A server with the two nodes and the variables of the recordings, one node its own."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from cluster.bench.stack import Stack
from tests.live.world import PATIENCE, AgentProcess
from tests.patience import PATIENCE_S

#: The nodes of the recording, as far as its exchanges ask for it.
NODE = {
    "BIVOUAC_NODE_CLASS": "general",
    "BIVOUAC_NODE_ADDRESS": "127.0.0.1",
    "BIVOUAC_RAW_EXEC": "1",
}


@contextlib.contextmanager
def recorded_server(scratch: Path) -> Iterator[tuple[str, httpx.Client]]:
    """Its address and a manager's client; the volume `scratch` of both nodes is a directory."""
    node = NODE | {"BIVOUAC_HOST_VOLUME": f"scratch={scratch}"}
    environment = {
        **node,
        "BIVOUAC_NODE_NAME": "node-1",
        "BIVOUAC_META": "rack=r1,zone=a",
        "BIVOUAC_RATE": "0",
    }
    with Stack(agent=True, environment=environment) as stack:
        second = AgentProcess(stack, "node-2")
        second.environment |= node | {"BIVOUAC_META": "rack=r2,zone=b"}
        second.start()
        try:
            with stack.client() as client:
                _wait_for_nodes(client)
                for path in ("nomad/jobs/web", "team/lock"):
                    client.put(f"/v1/var/{path}", json={"Items": {"a": "b"}}).raise_for_status()
                yield stack.address, client
        finally:
            second.kill()


def clear(client: httpx.Client) -> None:
    """Each file begins without jobs."""
    for job in client.get("/v1/jobs", params={"namespace": "*"}).json():
        client.delete(f"/v1/job/{job['ID']}", params={"purge": "true"})


def _wait_for_nodes(client: httpx.Client) -> None:
    for _ in range(PATIENCE_S * PATIENCE):
        if [node["Status"] for node in client.get("/v1/nodes").json()] == ["ready", "ready"]:
            return
        time.sleep(0.25)
    raise AssertionError("the nodes did not become ready")
