"""`up` on what an earlier version left: all pages and reads answer, the cluster decides on."""

import shutil

import httpx
import pytest

from cluster.bench.stack import Stack
from tests.earlier_records import VERSIONS, unpack
from tests.live.fleet_process import fleet
from tests.live.world import MOCK, World, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: Nodes of the record are gone: they are to be missed soon.
IMPATIENT = {
    "BIVOUAC_MIN_HEARTBEAT_TTL": "2",
    "BIVOUAC_HEARTBEAT_GRACE": "3",
    "BIVOUAC_FAILOVER_HEARTBEAT_TTL": "6",
}
LISTS = ("jobs", "nodes", "allocations", "evaluations", "deployments", "namespaces", "quotas")
ONES = {"jobs": "job", "nodes": "node", "allocations": "allocation", "evaluations": "evaluation"}
PAGES = ("", "jobs/", "evaluations/", "allocations/", "nodes/", "drains/", "admin/")


def addresses_of(listed: dict[str, list]) -> list[str]:
    """Every thing of the record, in the API and on its page."""
    found = []
    for name, one in ONES.items():
        for row in listed[name]:
            namespace = row.get("Namespace", "")
            found.append(f"/v1/{one}/{row['ID']}?namespace={namespace or 'default'}")
            place = f"{namespace}/{row['ID']}" if name == "jobs" else row["ID"]
            found.append(f"/{name}/{place}/")
    for row in listed["evaluations"]:
        found += [f"/v1/evaluation/{row['ID']}/{part}" for part in ("lifecycle", "explanation")]
        found.append(f"/chains/{row['ID']}/")
    return found


def wrong_answers(client: httpx.Client, addresses: list[str]) -> dict[str, int]:
    statuses = {address: client.get(address).status_code for address in addresses}
    return {address: status for address, status in statuses.items() if status != httpx.codes.OK}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_earlier_record_is_read_and_decided_on(version, tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    unpack(version, data_dir / "state.sqlite3")
    with (
        Stack(data_dir=data_dir, environment=IMPATIENT) as stack,
        httpx.Client(base_url=stack.address, timeout=30, follow_redirects=True) as person,
    ):
        world = World(stack)
        listed = {name: world.get(f"{name}?namespace=*") for name in LISTS}
        assert {name: len(rows) > 0 for name, rows in listed.items()} == dict.fromkeys(LISTS, True)
        assert person.get(stack.login_link).status_code == httpx.codes.OK
        person.headers["X-Nomad-Token"] = stack.token
        tables = [f"/admin/cluster/{name}/" for name in ("eventrow", "lifecyclerow", "jobstubrow")]
        asked = [*(f"/{page}" for page in PAGES), *addresses_of(listed), *tables]
        assert wrong_answers(person, asked) == {}

        # Others than the record's, which nobody can be any more: their secrets are gone.
        with fleet(stack, nodes=4, cpu=4000, memory=8192, seed=8):
            # What ran on nodes that are gone is placed anew, the old canary with its rollout.
            world.running("everywhere", 4)
            until(lambda: world.get("job/moving/summary")["Summary"]["group"]["Running"] == 2,
                  "both are placed anew", 60)  # fmt: skip
            world.register(job("new", count=2, task=MOCK))
            world.running("new", 2)
            assert wrong_answers(person, [f"/{page}" for page in PAGES]) == {}
        for process in ("web", "leader", "workers", "applier"):
            assert "Traceback" not in stack.log(process), process
        world.api.close()
    shutil.rmtree(data_dir)
