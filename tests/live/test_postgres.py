"""The whole path with PostgreSQL as the record: register, place, drain."""

import subprocess
from urllib.parse import quote

import httpx
import psycopg
import pytest

from cluster.bench.job_forms import job_form
from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet
from tests.live.side_process import until
from tests.live.submissions import ended_other_than_once, submit, wait_until_finished
from tests.postgres_server import USER, PostgresServer, find_programs

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(600)]

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def database_url():
    programs = find_programs()
    assert programs is not None, "`make test` brings a PostgreSQL"
    server = PostgresServer(programs)
    server.start()
    try:
        folder = str(server.directory)
        command = [programs / "createdb", "-h", folder, "-U", USER, "record"]
        subprocess.run(command, check=True)
        yield f"postgresql://{USER}@{quote(folder, safe='')}/record"
    finally:
        server.stop()


def running_on(client: httpx.Client) -> list[str]:
    allocs = client.get("/v1/job/web/allocations").json()
    return [alloc["NodeName"] for alloc in allocs if alloc["ClientStatus"] == "running"]


def test_jobs_are_placed_and_a_node_is_drained(database_url):
    with (
        Stack(environment={"DATABASE_URL": database_url}) as stack,
        fleet(stack, nodes=3, cpu=4000, memory=8192),
        stack.client() as client,
    ):
        sent = submit(stack, "job", 20)
        wait_until_finished(stack, sent, limit_s=20)
        assert ended_other_than_once(stack, sent) == {}
        with psycopg.connect(database_url) as record:
            assert record.execute("SELECT COUNT(*) FROM job").fetchone() == (20,)

        web = job_form("web", count=3)
        web["TaskGroups"][0]["Migrate"] = {"MaxParallel": 3, "MinHealthyTime": SECOND // 10}
        assert client.put("/v1/jobs", json={"Job": web}).status_code == 200
        until(lambda: len(running_on(client)) == 3, 20, "it runs")
        name = running_on(client)[0]
        node_id = next(n["ID"] for n in client.get("/v1/nodes").json() if n["Name"] == name)
        drain = {"DrainSpec": {"Deadline": 30 * SECOND}}
        assert client.put(f"/v1/node/{node_id}/drain", json=drain).status_code == 200
        until(
            lambda: client.get(f"/v1/node/{node_id}").json()["DrainStrategy"] is None,
            40,
            "it is drained",
        )
        until(lambda: len(running_on(client)) == 3, 20, "it runs elsewhere")
        assert name not in running_on(client)
        for process in ("web", "leader", "workers", "applier"):
            assert "Traceback" not in stack.log(process), process
