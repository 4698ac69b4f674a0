"""How long submissions take alone, and while a drain is rehearsed again and again beside them.

In: a filled record, with nodes named by number. Out: quantiles of `PUT /v1/jobs` at a steady
pace, in stretches by turns, so that what else happens on the machine befalls both; and how long
the processes that answer stood ready and waited for a processor, which tells whether a rehearsal
keeps them from it.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import psutil

from cluster.bench.connection import Connection
from cluster.bench.job_forms import job_form
from cluster.bench.scenario import Figures, Options, WrongCount, percentile
from cluster.bench.stack import Stack
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

#: Jobs a second, seconds of a stretch, and stretches of each kind.
_PER_S, _STRETCH_S, _STRETCHES = 25.0, 12.0, 5
_WARM_UP = 50
#: Processes that a submission's answer waits for.
_ANSWERING = ("web", "leader", "applier")
_WAIT_S = 120
#: The nodes of the record have no agents, and must not fall silent.
NO_SILENCE = {"BIVOUAC_HEARTBEAT_GRACE": "3600", "BIVOUAC_FAILOVER_HEARTBEAT_TTL": "86400"}
_CLOCK = SystemClock()


def measure(options: Options, directory: Path, drained: Sequence[str]) -> Figures:
    """Start a cluster on the record of a directory and submit; raises WrongCount."""
    environment = {**NO_SILENCE, **options.environment}
    stack = Stack(workers=options.workers, environment=environment, data_dir=directory)
    alone: list[float] = []
    beside: list[float] = []
    waits: dict[str, list[float]] = {"alone": [], "beside": []}
    with stack:
        aim = Target(stack.address, stack.token, "", stack)
        aim.until_quiet(_WAIT_S)
        with closing(aim.connect()) as connection:
            _submit(connection, "warm", _WARM_UP)
            # Once: listing thousands of nodes keeps a server longer than all that is measured.
            names = {node["Name"]: node["ID"] for node in connection.get("/v1/nodes")}
            drain = {"NodeIDs": [names[name] for name in drained], "Spec": {"Deadline": "1h"}}
            with _rehearsing(aim, drain):
                pass
            rehearsed: list[float] = []
            many = max(2, round(_PER_S * _STRETCH_S * min(1.0, options.scale)))
            for number in range(_STRETCHES):
                with _waiting(stack, waits["alone"], many):
                    alone += _submit(connection, f"alone-{number}", many)
                with _rehearsing(aim, drain) as done, _waiting(stack, waits["beside"], many):
                    beside += _submit(connection, f"beside-{number}", many)
                rehearsed += done
        aim.until_quiet(_WAIT_S)
    told = {"alone": _told(alone), "beside": _told(beside)}
    return {
        "rehearsals_beside": float(len(rehearsed)),
        "seconds_of_each": percentile(rehearsed, 0.50),
        "submissions_each": float(len(alone)),
        **{f"alone_{name}": value for name, value in told["alone"].items()},
        **{f"beside_{name}": value for name, value in told["beside"].items()},
        # Of the same run: what else the machine does befalls both.
        **{
            f"{name.removesuffix('_ms')}_more_percent": 100 * (value / told["alone"][name] - 1)
            for name, value in told["beside"].items()
        },
        **{f"{name}_processor_wait_ms": percentile(each, 0.50) for name, each in waits.items()},
    }


@contextmanager
def _waiting(stack: Stack, waits: list[float], submissions: int) -> Iterator[None]:
    """Add, of this block, the milliseconds a submission waited for a processor."""
    before = _waited_ms(stack)
    yield
    waits.append((_waited_ms(stack) - before) / submissions)


def _waited_ms(stack: Stack) -> float:
    """How long all threads of the cluster's processes stood ready and did not run, in all."""
    family = [psutil.Process(pid) for name, pid in stack.pids.items() if name in _ANSWERING]
    family += [child for each in family for child in each.children(recursive=True)]
    waited = 0
    for process in family:
        if "rehearsal" in process.cmdline():
            continue
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e6


def _told(values: list[float]) -> Figures:
    return {f"p{share}_ms": percentile(values, share / 100) for share in (50, 95, 99)}


def _submit(connection: Connection, prefix: str, count: int) -> list[float]:
    """Milliseconds of each; the next one begins at its time, or as soon as the last is through."""
    began, taken = _CLOCK.monotonic(), []
    for number in range(count):
        sleep(max(0.0, began + number / _PER_S - _CLOCK.monotonic()))
        asked = _CLOCK.monotonic()
        form = job_form(f"{prefix}-{number}", cpu=20)
        connection.put("/v1/jobs", {"Job": form})
        taken.append((_CLOCK.monotonic() - asked) * 1000)
    return taken


@contextmanager
def _rehearsing(aim: Target, drain: dict[str, Any]) -> Iterator[list[float]]:
    """One rehearsal after another, until the block has ended and the last of them too.

    Gives how long each took from its request to its result, seconds; raises WrongCount.
    """
    ended = threading.Event()
    done: list[float] = []
    failed: list[str] = []

    def rehearse() -> None:
        with closing(aim.connect()) as connection:
            while not done or not ended.is_set():
                began = _CLOCK.monotonic()
                asked = connection.put("/v1/rehearsals", {"Drain": drain})
                found = _ended(connection, asked["ID"])
                if found["Status"] != "complete":
                    failed.append(f"{found['Status']}: {found['Reason']}")
                    return
                done.append(_CLOCK.monotonic() - began)

    thread = threading.Thread(target=rehearse, daemon=True)
    thread.start()
    try:
        yield done
    finally:
        ended.set()
        thread.join()
    if failed:
        raise WrongCount(f"a rehearsal ended as {failed[0]}")


def _ended(connection: Connection, rehearsal_id: str) -> dict[str, Any]:
    index = 0
    while True:
        path = f"/v1/rehearsal/{rehearsal_id}?index={index}&wait=30s"
        found: dict[str, Any] = connection.get(path)
        if found["Status"] not in ("waiting", "running"):
            return found
        index = connection.index
