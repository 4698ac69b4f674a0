"""Processes that stop, freeze or double: nothing acknowledged is lost, delayed for long or twice.

One stack for all; each test leaves it whole.
"""

import signal
import sqlite3
import sys
import threading
import time

import pytest

from cluster.bench.stack import Stack
from tests.live.fleet_process import fleet
from tests.live.side_process import MANAGE, RedisProcess, SideProcess, beside, running, until
from tests.live.submissions import (
    Submission,
    ended_other_than_once,
    submit,
    wait_until_finished,
)

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: A process silent for so long is lost, a lease that stands still for so long is taken.
LOST_AFTER_S = 5.0
#: Less than any wait for Redis that gives up.
NO_REDIS_S = 4.0
CELERY = (
    sys.executable, "-m", "celery", "--app", "cluster", "worker", "--without-gossip",
    "--without-mingle", "--loglevel", "WARNING", "-c", "1",
)  # fmt: skip


class Rig:
    """A stack with a Redis that stays dead when killed, and a few simulated nodes."""

    def __init__(self, stack: Stack, redis: RedisProcess) -> None:
        self.stack = stack
        self.redis = redis

    def beside(self, name: str, *command: str) -> SideProcess:
        return beside(self.stack, name, *command, REDIS_URL=self.redis.url)

    def freeze(self, name: str) -> None:
        self.stack.kill(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self.stack.kill(name, signal.SIGCONT)

    def check(self, submissions: list[Submission], limit_s: float) -> None:
        """All were acknowledged, run once and have ended once."""
        assert [sent for sent in submissions if sent.status != 200] == []
        wait_until_finished(self.stack, submissions, limit_s)
        assert ended_other_than_once(self.stack, submissions) == {}

    def surrenders(self) -> int:
        log = self.stack.log("workers")
        return log.count("refused") + log.count("no answer within")

    def tracebacks(self) -> dict[str, int]:
        names = ("web", "leader", "workers", "applier", "fleet")
        counts = {name: self.stack.log(name).count("Traceback") for name in names}
        return {name: count for name, count in counts.items() if count}


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    redis = RedisProcess(tmp_path_factory.mktemp("redis"))
    with (
        running(redis),
        Stack(environment={"REDIS_URL": redis.url}) as stack,
        fleet(stack, nodes=4, cpu=40000, memory=65536),
    ):
        yield Rig(stack, redis)


def test_submissions_wait_for_a_database_that_is_locked_for_three_seconds(rig):
    sent: list[Submission] = []
    sender = threading.Thread(target=lambda: sent.extend(submit(rig.stack, "locked", 20)))
    before = rig.tracebacks()
    database = sqlite3.connect(rig.stack.data_dir / "state.sqlite3", isolation_level=None)
    database.execute("PRAGMA busy_timeout = 2000")
    database.execute("BEGIN IMMEDIATE")
    sender.start()
    time.sleep(3)
    database.execute("COMMIT")
    database.close()
    sender.join()
    rig.check(sent, limit_s=10)
    assert rig.tracebacks() == before


def test_a_second_applier_writes_nothing_until_the_first_falls_silent(rig):
    second = rig.beside("applier-two", *CELERY, "-Q", "plans", "-n", "two@%h")
    with running(second):
        until(lambda: "[queues]" in second.log, 30, "it is ready")
        sent = submit(rig.stack, "two-appliers", 30)
        rig.check(sent, limit_s=10)
        rig.freeze("applier")
        try:
            sent = submit(rig.stack, "frozen-applier", 5)
            rig.check(sent, limit_s=LOST_AFTER_S + 10)
        finally:
            rig.thaw("applier")
        rig.check(submit(rig.stack, "thawed-applier", 10), limit_s=10)
    assert "Traceback" not in second.log


def test_a_standby_takes_over_from_a_frozen_leader_which_is_fenced_when_it_wakes(rig):
    with running(rig.beside("standby", *MANAGE, "runleader")) as standby:
        until(lambda: "action=stand_by" in standby.log, 30, "it stands by")
        frozen_at = time.monotonic()
        rig.freeze("leader")
        try:
            sent = submit(rig.stack, "frozen-leader", 20)
            until(lambda: "action=lead" in standby.log, LOST_AFTER_S + 6, "the standby leads")
            rig.check(sent, limit_s=10)
            time.sleep(max(0.0, frozen_at + 8 - time.monotonic()))
        finally:
            rig.thaw("leader")
        sent += submit(rig.stack, "thawed-leader", 20)
        rig.check(sent, limit_s=10)
        until(lambda: "another process leads" in rig.stack.log("leader"), 5, "it steps down")
        assert "action=step_down" not in standby.log
    rig.check(submit(rig.stack, "after-standby", 10), limit_s=10)


def test_a_frozen_worker_loses_its_evaluations_and_is_refused_when_it_wakes(rig):
    sent: list[Submission] = []
    before = rig.surrenders()
    sender = threading.Thread(
        target=lambda: sent.extend(submit(rig.stack, "frozen-worker", 60, pause_s=0.01))
    )
    sender.start()
    time.sleep(0.3)
    rig.freeze("workers")
    frozen_at = time.monotonic()
    # Another one comes only now, so that the frozen one holds what was asked for meanwhile.
    other = rig.beside("workers-two", *CELERY, "-Q", "evaluations", "-n", "workers-two@%h")
    with running(other):
        try:
            sender.join()
            rig.check(sent, limit_s=LOST_AFTER_S + 20)
            time.sleep(max(0.0, frozen_at + LOST_AFTER_S + 1 - time.monotonic()))
        finally:
            rig.thaw("workers")
        until(
            lambda: rig.surrenders() > before,
            10,
            "what it says of its old evaluations is refused, or it gave them up itself",
        )
        rig.check([*sent, *submit(rig.stack, "thawed-worker", 10)], limit_s=10)


def test_without_redis_submissions_and_pages_answer_and_all_is_placed_when_it_returns(rig):
    rig.redis.end(signal.SIGKILL)
    dead_at = time.monotonic()
    sent = submit(rig.stack, "no-redis", 20)
    # None waited for Redis; the rest is for a busy machine.
    assert max(one.took_s for one in sent) < NO_REDIS_S
    with rig.stack.client() as client:
        for path in ("/v1/nodes", "/v1/evaluations?per_page=5", "/v1/status/leader"):
            assert client.get(path).status_code == 200, path
        entered = client.get(rig.stack.login_link, follow_redirects=True)
        assert (entered.status_code, "text/html" in entered.headers["Content-Type"]) == (200, True)
    time.sleep(max(0.0, dead_at + 5 - time.monotonic()))
    rig.redis.start()
    rig.check(sent, limit_s=15)


def test_agents_and_their_channel_come_back_after_the_web_server_is_killed(rig):
    rig.stack.kill("web")

    def nodes() -> list[str]:
        with rig.stack.client() as client:
            found = client.get("/v1/nodes", timeout=2).json()
        return [node["Status"] for node in found]

    until(nodes, 15, "the API answers again")
    rig.check(submit(rig.stack, "web-killed", 10), limit_s=10)
    with rig.stack.client() as client:
        alloc_id = client.get("/v1/allocations").json()[0]["ID"]

        def restarted() -> bool:
            answer = client.put(f"/v1/client/allocation/{alloc_id}/restart", json={})
            return answer.status_code == 200

        until(restarted, 15, "the agents have opened their channel again")
    assert nodes() == ["ready"] * 4
