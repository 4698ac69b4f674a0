"""Plays one recorded scenario against real processes: `manage.py up`, and an agent for each node.

In: a scenario. Out: what `chain_player` gives, read from the server's own record. Requests go
through HTTP, time passes as it does, and nobody knows that it is a test.
"""

import asyncio
import copy
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

from django.conf import settings

from cluster.bench.stack import Stack
from cluster.jobspec.durations import read_duration
from cluster.runtime.clock import SystemClock
from cluster.store.writer import DjangoStateStore
from tests.conformance.chain_agents import GRACE, MIN_TTL
from tests.conformance.chain_calls import Reply
from tests.conformance.chain_player import Played, Player, Stillness
from tests.conformance.chain_stores import DatabaseRecord, opened
from tests.record_databases import database, sqlite_settings

LOOK_S = 0.1
#: Waits of the recording end so many times later: a bound here claims nothing about speed.
PATIENCE = 4
#: Longer than on virtual time: here agents and workers need time for what they do.
STILLNESS_S = 3.0
REFUSING = "tests.conformance.refusing_settings"


class AgentOfScenario:
    """One agent as a process: started, stopped, paused and resumed by the steps."""

    def __init__(self, stack: Stack, form: dict) -> None:
        self.name = form["name"]
        #: Its id is known once it has joined.
        self.node = SimpleNamespace(id="")
        self._log_file = stack.data_dir / "logs" / f"agent-{self.name}.log"
        self._environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "cluster.settings",
            "BIVOUAC_DATA_DIR": str(stack.data_dir),
            "BIVOUAC_ADDR": stack.address,
            "BIVOUAC_JOIN_TOKEN": (stack.data_dir / "join-token").read_text().strip(),
            "BIVOUAC_AGENT_DIR": str(stack.data_dir / f"agent-{self.name}"),
            "BIVOUAC_NODE_NAME": self.name,
            "BIVOUAC_NODE_CLASS": form.get("class", ""),
            "BIVOUAC_NODE_POOL": form.get("pool", "default"),
            "BIVOUAC_DATACENTER": form.get("datacenter", "dc1"),
            "BIVOUAC_CPU_MHZ": str(form["cpu"]),
            "BIVOUAC_MEMORY_MB": str(form["memory"]),
            "CHAIN_HOST_VOLUMES": " ".join(form.get("host_volumes", ())),
        }
        self._arguments = [
            word
            for key, value in form.get("meta", {}).items()
            for word in ("--meta", f"{key}={value}")
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.conformance.chain_agent", *self._arguments],
                cwd=settings.BASE_DIR, env=self._environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        """As a person would, from the keyboard."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """It is gone at once."""
        self._end(signal.SIGKILL)

    async def close(self) -> None:
        if self._process is not None:
            self.kill()

    def _end(self, number: signal.Signals) -> None:
        self._send(number)
        self._process.wait(60)
        self._process = None

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None, f"{self.name} does not run"
        os.killpg(self._process.pid, number)


class ProcessPlayer(Player):
    """One play of one scenario on a running server. Blocks its loop: nothing else runs on it."""

    def __init__(self, scenario: dict, stack: Stack, record: DatabaseRecord) -> None:
        # What looks at the record is its base's; what runs is in processes.
        self.scenario = scenario
        self.stack = stack
        self.world = SimpleNamespace(store=record, clock=SystemClock(), tell=lambda: None)
        self.agents = {form["name"]: AgentOfScenario(stack, form) for form in scenario["Nodes"]}
        self.played = Played(self.world, {})

    async def _do(self, agent: AgentOfScenario, what: str) -> None:
        getattr(agent, what)()

    # Requests.

    def _ask(self, step: dict) -> Reply:
        if "register" in step:
            return self._send("PUT", "/v1/jobs", self._registration(step))
        if "drain" in step:
            return self._send("PUT", self._path_of(step["drain"], "drain"), _drain(step["drain"]))
        if "eligibility" in step:
            asked = step["eligibility"]
            body = {"Eligibility": asked["to"]}
            return self._send("PUT", self._path_of(asked, "eligibility"), body)
        method, path, *body = step["call"]
        named = json.loads(self._with_ids(json.dumps(body[0]))) if body and body[0] else None
        return self._send(method, self._with_ids(path), named)

    def _path_of(self, asked: dict, what: str) -> str:
        return f"/v1/node/{self.agents[asked['node']].node.id}/{what}"

    def _registration(self, step: dict) -> dict:
        job = copy.deepcopy(step["register"])
        for group in job["TaskGroups"]:
            # Held twice all the same, as the recorded scheduler let them: see RefusingStore.
            for volume in (group.get("Volumes") or {}).values():
                volume["AccessMode"] = "single-node-multi-writer"
        return {"Job": job, **(step.get("options") or {})}

    def _send(self, method: str, path: str, body: dict | None) -> Reply:
        with self.stack.client() as client:
            answer = client.request(method, path, json=body)
        if not answer.is_success:
            return Reply(error=answer.text)
        told = answer.json() if answer.content.strip() else None
        told = told if isinstance(told, dict) else {}
        return Reply(
            eval_id=told.get("EvalID") or "",
            eval_ids=tuple(told.get("EvalIDs") or ()),
            dispatched_job_id=told.get("DispatchedJobID") or "",
        )

    # Waiting.

    async def _wait(self, wanted: dict) -> None:
        if "seconds" in wanted:
            time.sleep(wanted["seconds"])
            return
        end = self.world.clock.monotonic() + PATIENCE * wanted.get("timeout", 60)
        is_over = (
            Stillness(self.world, STILLNESS_S)
            if wanted.get("evals_final")
            else partial(self._holds, wanted)
        )
        while not self._sees(is_over):
            assert self.world.clock.monotonic() < end, f"waited in vain for {wanted}"
            time.sleep(LOOK_S)

    def _sees(self, is_over: Callable[[], bool]) -> bool:
        for node in self.world.store.nodes():
            agent = self.agents.get(node.name)
            if agent is not None:
                agent.node.id = node.id
                self.played.node_names[node.id] = node.name
        return is_over()


def _drain(asked: dict) -> dict:
    spec = None
    if not asked.get("off"):
        text = asked.get("deadline", "1h")
        deadline = -1 if text == "force" else read_duration(text)
        spec = {"Deadline": deadline, "IgnoreSystemJobs": asked.get("ignore_system", False)}
    return {"DrainSpec": spec, "MarkEligible": asked.get("eligible", False)}


@contextmanager
def play(scenario: dict) -> Iterator[tuple[Played, Stack]]:
    """Play a scenario from its beginning on a server of its own; both are there until the end.

    One worker, so that no plan conflicts by chance.
    """
    environment = {
        "BIVOUAC_MIN_HEARTBEAT_TTL": f"{MIN_TTL:g}",
        "BIVOUAC_HEARTBEAT_GRACE": f"{GRACE:g}",
    }
    if any(form.get("host_volumes") for form in scenario["Nodes"]):
        environment["DJANGO_SETTINGS_MODULE"] = REFUSING
    with (
        Stack(workers=1, environment=environment) as stack,
        database(sqlite_settings(stack.data_dir / "state.sqlite3")) as alias,
        opened(DjangoStateStore(alias)) as record,
    ):
        yield asyncio.run(ProcessPlayer(scenario, stack, record).play()), stack
