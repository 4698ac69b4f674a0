"""What an autoscaler asks by the reference's Go client, from finding a policy to more tasks.

Its calls, with their spellings and waits, were made by the client itself against Bivouac; here
they are kept. A group really grows and shrinks, and what its tasks use is what was measured.
"""

import threading
import time

import pytest

from tests.live.go_bodies import go_job, registration
from tests.live.go_client import GoClient, Unexpected
from tests.live.world import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

JOB = "go-scaled"
IN_DEFAULT = {"namespace": "default"}
CHECK = {
    "source": "nomad-apm",
    "query": "avg_memory",
    "strategy": {"target-value": {"target": 20}},
}


class Watcher(threading.Thread):
    """Reads how a job is scaled, again whenever that changes; it ends with the job."""

    def __init__(self, address, token):
        super().__init__(daemon=True)
        self._client = GoClient(address, token)
        self.seen, self.status = [], 0

    def run(self):
        try:
            self._follow()
        finally:
            self._client.close()

    def _follow(self):
        index = 1
        while not self.status:
            try:
                told, meta = self._client.query(
                    f"/v1/job/{JOB}/scale", wait_index=index, wait_s=300, **IN_DEFAULT
                )
            except Unexpected as gone:
                self.status = gone.status
                return
            index = meta.index
            self.seen.append(told)

    def running(self):
        return self.seen[-1]["TaskGroups"]["g"]["Running"] if self.seen else 0


@pytest.fixture
def go(world):
    world.open(world.node("first"))
    client = GoClient(world.stack.address, world.stack.token)
    yield client
    client.close()


@pytest.fixture
def policy(go):
    """The id of the policy of a job that runs one."""
    job = go_job(JOB, "sleep 3600")
    group = job["TaskGroups"][0]
    group["Scaling"] |= {"Max": 3, "Policy": {"cooldown": "1s", "check": {"memory": CHECK}}}
    go.put("/v1/jobs", registration(job))
    began = time.monotonic()
    # No wait is named: an index of the past is answered at once all the same.
    listed, _ = go.query("/v1/scaling/policies", wait_index=1)
    assert time.monotonic() - began < 20
    (found,) = (each["ID"] for each in listed if each["Target"]["Job"] == JOB)
    yield found
    go.delete(f"/v1/job/{JOB}?purge=true&global=false&eval_priority=0&no_shutdown_delay=false")


def scale(go, count, **fields):
    body = {"Count": count, "Error": False, "Meta": None, "Message": "", "Namespace": "",
            "Region": "", "SecretID": "", "PolicyOverride": False, "JobModifyIndex": 0,
            "Target": {"Job": JOB, "Group": "g"}}  # fmt: skip
    return go.put(f"/v1/job/{JOB}/scale", body | fields, **IN_DEFAULT)[0]


def scale_when_calm(go, count, **fields):
    """While a rollout is in its way, which it knows by the text, it tries again later."""

    def tried():
        try:
            return scale(go, count, **fields)
        except Unexpected as blocked:
            if "job scaling blocked due to active deployment" not in blocked.body:
                raise
            return None

    return until(tried, f"a count of {count}", 60)


def used(go):
    """Percent of the granted memory, by allocation: as `nomad-apm` asks for it."""
    group = go.query(f"/v1/job/{JOB}")[0]["TaskGroups"][0]
    granted = sum(task["Resources"]["MemoryMB"] for task in group["Tasks"])
    found = []
    for alloc in go.query(f"/v1/job/{JOB}/allocations?all=false")[0]:
        if (alloc["ClientStatus"], alloc["TaskGroup"]) == ("running", "g"):
            usage = go.query(f"/v1/client/allocation/{alloc['ID']}/stats")[0]["ResourceUsage"]
            assert usage["CpuStats"]["TotalTicks"] >= 0
            memory = usage["MemoryStats"]
            found.append(100 * max(memory["Usage"], memory["RSS"]) / granted / 2**20)
    return found


def test_a_group_grows_and_shrinks_as_an_autoscaler_says(world, go, policy):
    read, _ = go.query(f"/v1/scaling/policy/{policy}")
    assert (read["Enabled"], read["Type"], read["Min"], read["Max"]) == (True, "horizontal", 1, 3)
    assert read["Policy"]["check"] == {"memory": CHECK}
    assert read["Target"] == {"Namespace": "default", "Job": JOB, "Group": "g"}
    watcher = Watcher(world.stack.address, world.stack.token)
    watcher.start()
    until(lambda: watcher.running() == 1, "it is told of the first", 60)

    for count in (3, 1):
        # Nothing is measured in the first moment of a task.
        each = until(lambda: all(found := used(go)) and found, "what its tasks use")
        average = sum(each) / len(each)
        assert 0 < average < 100
        reason = f"scaling to {count} because metric is {average:.2f}"
        why = {"nomad_policy_id": policy, "factor": average / 20}
        told = scale_when_calm(go, count, Message=reason, Meta=why)
        assert told["EvalID"]
        until(lambda n=count: watcher.running() == n, f"{count} run", 60)
        last = watcher.seen[-1]["TaskGroups"]["g"]["Events"][0]
        assert (last["Count"], last["Message"], last["Meta"]) == (count, reason, why)
        assert last["Time"] > 10**18

    scale(go, None, Error=True, Message="failed to query source", Meta={"e": "x"})
    until(lambda: watcher.seen[-1]["TaskGroups"]["g"]["Events"][0]["Error"], "the error is told")
    with pytest.raises(Unexpected, match="greater than scaling policy maximum: 9 > 3"):
        scale(go, 9)
    go.delete(f"/v1/job/{JOB}?purge=true&global=false&eval_priority=0&no_shutdown_delay=false")
    watcher.join(timeout=60)
    assert watcher.status == 404


def test_a_pool_of_nodes_is_measured_by_what_is_allocated_on_it(go, policy):
    """Every number is there that its sums want: a missing one ends its look."""
    until(lambda: used(go), "it runs", 60)
    listed, _ = go.query("/v1/nodes", params={"resources": "true"})
    for each in (node for node in listed if node["Status"] == "ready"):
        node, _ = go.query(f"/v1/node/{each['ID']}")
        has, kept = node["NodeResources"], node["ReservedResources"]
        assert has["Cpu"]["CpuShares"] > kept["Cpu"]["CpuShares"] >= 0
        assert has["Memory"]["MemoryMB"] > kept["Memory"]["MemoryMB"] >= 0
        for alloc in go.query(f"/v1/node/{each['ID']}/allocations")[0]:
            assert alloc["Resources"]["CPU"] > 0
            assert alloc["Resources"]["MemoryMB"] > 0


def test_one_of_several_autoscalers_holds_the_lock(go):
    path = "nomad-autoscaler/lock"
    wanted = {"Namespace": "", "Path": path, "Items": None, "CreateIndex": 0, "ModifyIndex": 0,
              "CreateTime": 0, "ModifyTime": 0,
              "Lock": {"TTL": "15s", "LockDelay": "1s"}}  # fmt: skip
    held, _ = go.put(f"/v1/var/{path}?lock-acquire", wanted)
    mine = wanted | {"Lock": held["Lock"]}
    _, other = go.put(f"/v1/var/{path}?lock-acquire", wanted, takes=(409,))
    assert other.index >= 0
    assert go.put(f"/v1/var/{path}?lock-renew", mine)[0]["Lock"]["ID"] == held["Lock"]["ID"]
    go.put(f"/v1/var/{path}?lock-release", mine)
    go.delete(f"/v1/var/{path}", takes=(200, 204), out=False)
