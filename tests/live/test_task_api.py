"""A real task asks the cluster's API by the socket in its secrets, as the identity it has."""

import json

import pytest

from tests.live.world import job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

JOB = "asks-the-cluster"
#: A socket's name is short; the way to a test's directories is not.
SCRIPT = """
cd "$NOMAD_SECRETS_DIR"
ask() { curl -sS -w ' %{http_code}\\n' --unix-socket api.sock "$@"; }
ask -H "Authorization: Bearer $NOMAD_TOKEN" http://localhost/v1/var/nomad/jobs/asks-the-cluster
ask -H "X-Nomad-Token: $NOMAD_TOKEN" http://localhost/v1/var/of/others
ask http://localhost/v1/jobs
ask -H "X-Nomad-Token: $NOMAD_TOKEN" http://localhost/ui/jobs
echo "$NOMAD_UNIX_ADDR"
sleep 600
"""


@pytest.mark.parametrize("driver", ["raw_exec", "exec"])
def test_a_task_reads_what_is_its_own_and_nothing_else(world, driver):
    # Other tests of this cluster join nodes that run nothing.
    told = [node["Drivers"].get(driver) or {} for node in world.get("nodes")]
    if not any(each.get("Healthy") for each in told):
        pytest.skip(f"no {driver} here: {told}")
    for path in (f"nomad/jobs/{JOB}", "of/others"):
        made = world.api.put(f"/v1/var/{path}", json={"Path": path, "Items": {"title": path}})
        assert made.is_success, made.text
    task = {
        "Name": "task",
        "Driver": driver,
        "Config": {"command": "/bin/sh", "args": ["-c", SCRIPT]},
        "Identity": {"Env": True},
        "Resources": {"CPU": 20, "MemoryMB": 20},
    }
    world.register(job(JOB, task=task))
    try:
        [alloc] = world.running(JOB, 1)
        said = until(lambda: whole(world.output(alloc["ID"])), "what the task was answered", 30)
        own, others, nobody, page, address = said
        variable, _, status = own.rpartition(" ")
        assert (json.loads(variable)["Items"], status) == ({"title": f"nomad/jobs/{JOB}"}, "200")
        assert others == "Permission denied 403"
        assert nobody.startswith("This socket takes no request without a token")
        assert nobody.endswith(" 401")
        assert page.endswith("below /v1/. 404")
        assert address.startswith("unix:///")
        seen = "unix:///secrets/api.sock" if driver == "exec" else "/task/secrets/api.sock"
        assert address.endswith(seen)
    finally:
        world.purge(JOB)
        for path in (f"nomad/jobs/{JOB}", "of/others"):
            world.api.delete(f"/v1/var/{path}")


def whole(output):
    """Its lines, once the last is there."""
    lines = output.splitlines()
    return lines if len(lines) == 5 and lines[-1].endswith("api.sock") else None
