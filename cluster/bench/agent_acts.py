"""Random acts of people and of fate on three real agents, by a seed; nothing may be left of it.

In: a rig whose stack gets two agents more, and for how long. Out: how often each act was done;
WrongCount where what runs in the end is not what the record says, or anything is left behind.
"""

import contextlib
import json
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import numpy as np
import psutil
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from cluster.bench.agent_remains import require_nothing_left
from cluster.bench.agent_rig import SECOND, RealAgent, Rig
from cluster.bench.scenario import Figures, WrongCount
from cluster.runtime.clock import SystemClock

AGENTS = 3
JOBS = 8
#: Seconds between two acts, on average.
_PAUSE_S = 0.5
#: Open terminals, of which the oldest is left first.
_TERMINALS = 5
_PORTS, _PORTS_EACH = 26_000, 500
_CLOCK = SystemClock()
_STAYS = "echo here >>$NOMAD_TASK_DIR/kept; exec sleep 86400"
_KINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    (_STAYS, {"EphemeralDisk": {"SizeMB": 10, "Sticky": True, "Migrate": True}}),
    (_STAYS, {"driver": "exec"}),
    (_STAYS, {"driver": "exec", "EphemeralDisk": {"SizeMB": 10, "Sticky": True, "Migrate": True}}),
    (
        _STAYS,
        {
            "driver": "exec",
            "Networks": [{"Mode": "bridge", "DynamicPorts": [{"Label": "web", "To": 8080}]}],
        },
    ),
    ("(setsid sleep 86400 &); (setsid sleep 86400 &); exec sleep 86400", {}),
    ("trap 'exit 0' USR1; while :; do echo line; sleep 1; done", {"ShutdownDelay": SECOND}),
    ("sleep 2; exit 1", {}),
)


def acts(rig: Rig, scale: float) -> Figures:
    """20 minutes of them at full length; then everything is purged and looked for."""
    length = max(20.0, 1200 * scale)
    with _three(rig) as rigs:
        doer = _Acts(rigs, np.random.default_rng(14))
        began = _CLOCK.monotonic()
        while _CLOCK.monotonic() - began < length:
            doer.act()
            time.sleep(float(doer.chance.exponential(_PAUSE_S)))
        doer.settle()
        for each in rigs:
            each.check()
        for each in rigs:
            require_nothing_left(each, 120, doer.seen)
    done = {f"done_{name}": float(count) for name, count in sorted(doer.done.items())}
    return {
        "for_s": length,
        "acts": sum(done.values()),
        **done,
        "allocations": float(len(doer.seen)),
    }


@contextlib.contextmanager
def _three(rig: Rig) -> Iterator[list[Rig]]:
    """The rig and two agents more, each with ports of its own: they share one machine."""
    rigs = [rig]
    try:
        for number in range(1, AGENTS):
            # No directory's name begins with that of another: tasks are counted by it.
            agent = RealAgent(rig.stack, f"{number}-{rig.agent.name}")
            config = rig.stack.data_dir / f"{agent.name}.hcl"
            first = _PORTS + number * _PORTS_EACH
            ports = f"min_dynamic_port = {first}\nmax_dynamic_port = {first + _PORTS_EACH - 1}"
            config.write_text(f"client {{\n{ports}\n}}\n")
            agent.environment["BIVOUAC_CONFIG"] = str(config)
            agent.start()
            rigs.append(Rig(rig.stack, agent))
            rigs[-1].ready()
        yield rigs
    finally:
        for each in rigs[1:]:
            each.close()
            shutil.rmtree(each.agent.directory, ignore_errors=True)


class _Acts:
    """One act after another, each of which may be refused: that is told to whoever asks."""

    def __init__(self, rigs: list[Rig], chance: np.random.Generator) -> None:
        self.rigs = rigs
        self.chance = chance
        self.done: Counter[str] = Counter()
        #: Every allocation that there was, those of purged jobs too.
        self.seen: set[str] = set()
        self._terminals: list[ClientConnection] = []
        self._api = rigs[0].stack.client()
        self._choices: tuple[tuple[Callable[[], bool], int], ...] = (
            (self._submit, 8), (self._stop_job, 3), (self._stop_one, 3), (self._restart, 3),
            (self._signal, 3), (self._open_terminal, 4), (self._drain, 1), (self._open_node, 2),
            (self._kill_agent, 2), (self._end_agent, 1), (self._kill_forks, 1),
            (self._kill_beside, 2), (self._kill_task, 3), (self._kill_server, 1),
            (self._collect, 2),
        )  # fmt: skip

    def act(self) -> None:
        """One of them. A server that is just killed answers nobody, which is no act."""
        weights = np.array([weight for _, weight in self._choices], dtype=float)
        chosen = self._choices[int(self.chance.choice(len(weights), p=weights / weights.sum()))][0]
        with contextlib.suppress(httpx.HTTPError):
            self.seen |= {each["ID"] for each in self.rigs[0].get("/v1/allocations")}
            if chosen():
                self.done[chosen.__name__.removeprefix("_")] += 1

    def settle(self) -> None:
        """End what goes on: terminals and drains; every agent runs, and every job that can."""
        for terminal in self._terminals:
            terminal.close()
        for each in self.rigs:
            if not each.agent.is_running:
                raise WrongCount(f"{each.agent.name} ended by itself")
            each.until(self._is_answered, "the server answers")
            each.ready()
            each.until(partial(self._opened, each), "its node is open")
        for job in self.rigs[0].get("/v1/jobs"):
            self._api.delete(f"/v1/job/{job['ID']}")
        self._submit_all()

    def _submit_all(self) -> None:
        """One job of each kind that stays, to its full count."""
        rig = self.rigs[0]
        for number, (script, fields) in enumerate(_KINDS[:4]):
            rig.submit(f"last-{number}", script, count=2, **_copied(fields))
            rig.running(f"last-{number}", 2, 120)

    def _is_answered(self) -> bool:
        return self._api.get("/v1/status/leader").is_success

    def _opened(self, rig: Rig) -> bool:
        node = rig.node()
        if not node:
            # Collected while its agent was away, which registers it anew.
            return False
        self._put(f"node/{node['ID']}/drain", {"DrainSpec": None, "MarkEligible": True})
        body = {"Eligibility": "eligible"}
        return self._put(f"node/{node['ID']}/eligibility", body)

    def _put(self, path: str, body: dict[str, Any]) -> bool:
        answer = self._api.put(f"/v1/{path}", json=body)
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR and "agent" not in answer.text:
            self.done[f"answered_{answer.status_code}"] += 1
        return answer.is_success

    def _one(self, among: list[Any]) -> Any:
        return among[int(self.chance.integers(len(among)))] if among else None

    def _rig(self) -> Rig:
        chosen: Rig = self._one(self.rigs)
        return chosen

    def _alloc(self) -> str:
        """Of one that runs, its id; "" where none does."""
        listed = self.rigs[0].get("/v1/allocations")
        found = self._one([each["ID"] for each in listed if each["ClientStatus"] == "running"])
        return str(found or "")

    def _submit(self) -> bool:
        script, fields = self._one(list(_KINDS))
        name = f"job-{self.chance.integers(JOBS)}"
        script = f"# {self.chance.integers(1000)}\n{script}"
        count = int(self.chance.integers(1, 4))
        self.rigs[0].submit(name, script, count=count, **_copied(fields))
        return True

    def _stop_job(self) -> bool:
        purge = "true" if self.chance.random() < 0.3 else "false"
        name = f"job-{self.chance.integers(JOBS)}"
        return self._api.delete(f"/v1/job/{name}", params={"purge": purge}).is_success

    def _stop_one(self) -> bool:
        return bool(alloc := self._alloc()) and self._put(f"allocation/{alloc}/stop", {})

    def _restart(self) -> bool:
        path = f"client/allocation/{(alloc := self._alloc())}/restart"
        return bool(alloc) and self._put(path, {"AllTasks": True})

    def _signal(self) -> bool:
        path = f"client/allocation/{(alloc := self._alloc())}/signal"
        return bool(alloc) and self._put(path, {"Signal": "SIGUSR1"})

    def _open_terminal(self) -> bool:
        """A shell that starts something and is left open; the oldest one is hung up on."""
        alloc = self._alloc()
        if not alloc:
            return False
        while len(self._terminals) >= _TERMINALS:
            self._terminals.pop(0).close()
        command = json.dumps(["/bin/sh", "-c", "(setsid sleep 86400 &); exec sleep 86400"])
        query = httpx.QueryParams(task="task", tty="true", command=command)
        address = self.rigs[0].stack.address.replace("http", "ws", 1)
        place = f"{address}/v1/client/allocation/{alloc}/exec?{query}"
        token = {"X-Nomad-Token": self.rigs[0].stack.token}
        try:
            self._terminals.append(connect(place, additional_headers=token, close_timeout=1))
        except (OSError, WebSocketException):
            return False
        return True

    def _drain(self) -> bool:
        spec = {"Deadline": int(self.chance.integers(2, 20)) * SECOND}
        node = self._rig().node()
        return bool(node) and self._put(f"node/{node['ID']}/drain", {"DrainSpec": spec})

    def _open_node(self) -> bool:
        return self._opened(self._rig())

    def _kill_agent(self) -> bool:
        return self._start_anew(signal.SIGKILL)

    def _end_agent(self) -> bool:
        return self._start_anew(signal.SIGTERM)

    def _start_anew(self, number: signal.Signals) -> bool:
        agent = self._rig().agent
        if not agent.is_running:
            raise WrongCount(f"{agent.name} ended by itself")
        agent.end(number)
        time.sleep(float(self.chance.random()) * 4)
        agent.start()
        return True

    def _kill_forks(self) -> bool:
        return _kill(self._one(self._rig().agent.fork_servers()))

    def _kill_beside(self) -> bool:
        return _kill(self._one(self._rig().agent.keepers()))

    def _kill_task(self) -> bool:
        return _kill(self._one(self._rig().agent.tasks()))

    def _kill_server(self) -> bool:
        stack = self.rigs[0].stack
        stack.kill(self._one(sorted(stack.pids)))
        return True

    def _collect(self) -> bool:
        self._put("system/gc", {})
        node = self._rig().node()
        asked = {"node_id": node.get("ID", "")}
        return bool(node) and self._api.get("/v1/client/gc", params=asked).is_success


def _kill(process: psutil.Process | None) -> bool:
    if process is None:
        return False
    with contextlib.suppress(psutil.Error):
        process.kill()
    return True


def _copied(fields: dict[str, Any]) -> dict[str, Any]:
    """For a call that takes words out of it."""
    copied: dict[str, Any] = json.loads(json.dumps(fields))
    return copied
