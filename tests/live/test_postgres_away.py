"""PostgreSQL goes away under a running cluster, and comes back: everybody is told."""

import subprocess
from urllib.parse import quote

import httpx
import psutil
import pytest

from cluster.bench.stack import Stack
from tests.cluster.api.clients import document
from tests.live.world import until
from tests.postgres_server import USER, PostgresServer, find_programs

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@pytest.fixture
def server():
    programs = find_programs()
    assert programs is not None, "`make test` brings a PostgreSQL"
    server = PostgresServer(programs)
    server.start()
    folder = str(server.directory)
    subprocess.run([programs / "createdb", "-h", folder, "-U", USER, "record"], check=True)
    try:
        yield server
    finally:
        server.stop()


def health(stack):
    return httpx.get(f"{stack.address}/v1/agent/health", timeout=20, trust_env=False)


def register(client, name):
    return client.put("/v1/jobs", json={"Job": document(ID=name)}, timeout=20)


def test_while_postgresql_is_away_everybody_is_told_and_afterwards_it_goes_on(server):
    folder = quote(str(server.directory), safe="")
    url = {"DATABASE_URL": f"postgresql://{USER}@{folder}/record"}
    with (
        Stack(environment=url) as stack,
        stack.client() as client,
        httpx.Client(base_url=stack.address, timeout=20, trust_env=False) as person,
    ):
        person.get(stack.login_link, follow_redirects=True).raise_for_status()
        until(lambda: health(stack).status_code == 200, "the cluster is healthy", 60)
        assert register(client, "before").status_code == 200
        server.go_away()
        try:
            asked = [client.get("/v1/jobs", timeout=20), register(client, "during")]
            page = person.get("/jobs/")
            told = until(lambda: (h := health(stack)).status_code == 503 and h, "it is ill")
        finally:
            server.come_back()
        until(lambda: register(client, "after").status_code == 200, "jobs are taken", 60)
        until(lambda: health(stack).status_code == 200, "the cluster is healthy again", 60)
        names = {job["ID"] for job in client.get("/v1/jobs").json()}
        again = person.get("/jobs/")
    for answer in asked:
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"].startswith("text/plain")
        assert "the record's database does not answer" in answer.text
        assert int(answer.headers["retry-after"]) <= 5
    assert page.status_code == 503
    assert "the record&#x27;s database does not answer" in page.text
    assert "the record's database" in told.json()["server"]["message"]
    assert names == {"before", "after"}
    assert again.status_code == 200


def frozen(server):
    """Every process of the server."""
    pid = int((server.directory / "data" / "postmaster.pid").read_text().split()[0])
    first = psutil.Process(pid)
    return [first, *first.children(recursive=True)]


def test_a_postgresql_that_stands_still_is_told_and_afterwards_it_goes_on(server):
    folder = quote(str(server.directory), safe="")
    url = {"DATABASE_URL": f"postgresql://{USER}@{folder}/record"}
    with (
        Stack(environment=url) as stack,
        stack.client() as client,
        httpx.Client(base_url=stack.address, timeout=60, trust_env=False) as person,
    ):
        person.get(stack.login_link, follow_redirects=True).raise_for_status()
        until(lambda: health(stack).status_code == 200, "the cluster is healthy", 60)
        assert register(client, "before").status_code == 200
        processes = frozen(server)
        for process in processes:
            process.suspend()
        try:
            answers = [client.get("/v1/jobs", timeout=60), person.get("/jobs/")]
        finally:
            for process in reversed(processes):
                process.resume()
        until(lambda: register(client, "after").status_code == 200, "jobs are taken", 60)
        until(lambda: health(stack).status_code == 200, "the cluster is healthy again", 60)
        names = {job["ID"] for job in client.get("/v1/jobs").json()}
        again = person.get("/jobs/")
    assert [answer.status_code for answer in answers] == [503, 503]
    assert "the record's database does not answer" in answers[0].text
    assert "the record&#x27;s database does not answer" in answers[1].text
    assert names == {"before", "after"}
    assert again.status_code == 200
