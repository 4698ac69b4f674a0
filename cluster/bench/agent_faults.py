"""What befalls a node, one fault after another, and what must hold afterwards.

In: a rig with a running agent, the share of full length. Out: figures; WrongCount where a task was
lost, doubled or left behind (node-agent.md 13, 14). Needs Linux; most need root.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cluster.agent.secret_mounts import unmount_below
from cluster.bench.agent_acts import acts
from cluster.bench.agent_rig import SECOND, Rig
from cluster.bench.scenario import Figures, WrongCount, require
from cluster.runtime.clock import SystemClock

SLEEP = "exec sleep 86400"
#: Leaves its session, its group and its parent, and a dead child behind, again and again.
RUNAWAY = (
    "i=0; while [ $i -lt 20 ]; do i=$((i+1));"
    " (setsid sh -c 'setsid sleep 86400 & exec sleep 86400' &) ; (true &) ; done; exec yes"
)
#: Within a control group that ends it at its limit of processes.
BOMB = "b() { b | b & }; b; while :; do sleep 1; done"
#: The first process of a task in a root of its own buries nobody: what has ended counts too.
BOMB_INSIDE = "b() { b | b & }; b; exec sleep 86400"
BOMB_LIMIT = 48
MANY = 200
#: What an agent with so many tasks may hold.
MOST_MB = 150
MIB = 1024 * 1024
_CLOCK = SystemClock()
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Skipped(Exception):
    """This machine cannot be made to meet the fault; the text says why."""


def kill(rig: Rig, _scale: float) -> Figures:
    """`kill -9` of the agent, five times, the last while one task ends and one is submitted."""
    rig.submit("stays", SLEEP, count=5, driver=_best_driver())
    rig.submit("ends", "while [ ! -e $NOMAD_ALLOC_DIR/go ]; do sleep 0.1; done; exit 3")
    (ends,) = rig.running("ends")
    rig.running("stays", 5)
    before = rig.started("stays")
    took = []
    for number in range(5):
        rig.agent.end(signal.SIGKILL)
        if number == 4:
            (rig.agent.directory / "alloc" / ends["ID"] / "alloc/go").touch()
            rig.submit("new", SLEEP)
            time.sleep(1)
        began = _CLOCK.monotonic()
        rig.agent.start()
        rig.until(lambda: rig.answers(next(iter(before))), "the agent knows its tasks")
        took.append(_CLOCK.monotonic() - began)
    if rig.started("stays") != before:
        raise WrongCount("a task that ran on was started anew")
    rig.running("new")
    (state,) = rig.until(
        lambda: [each for each in _states(rig, "ends") if each["Restarts"] == 1],
        "the end that nobody saw was counted once",
    )
    told = [event["DisplayMessage"] for event in state["Events"]]
    require("ends told", sum("Exit Code: 3" in line for line in told), 1)
    rig.check()
    return {"found_again_s": max(took)}


def reboot(rig: Rig, _scale: float) -> Figures:
    """All processes gone, another boot id: each task runs again, once, in the same allocation."""
    rig.submit("stays", SLEEP, count=5, driver=_best_driver())
    before = {each["ID"] for each in rig.running("stays", 5)}
    started = rig.started("stays")
    rig.agent.end_all()
    # What was in memory is gone with the machine.
    unmount_below(rig.agent.directory)
    other = rig.stack.data_dir / "boot-id"
    other.write_text("00000000-0000-4000-8000-000000000000\n")
    rig.agent.prefix = [
        "unshare", "--mount", "sh", "-c",
        f'mount --bind "{other}" {_BOOT_ID} && exec "$@"', "sh",
    ]  # fmt: skip
    began = _CLOCK.monotonic()
    rig.agent.start()
    rig.until(
        lambda: (now := rig.started("stays")).keys() == before and not _same(now, started),
        "each task runs again in its allocation",
    )
    took = _CLOCK.monotonic() - began
    for each in rig.allocations("stays", "running"):
        types = [event["Type"] for event in each["TaskStates"]["task"]["Events"]]
        require("events Failed Restoring Task", types.count("Failed Restoring Task"), 1)
    rig.check()
    return {"running_again_s": took}


def partition(rig: Rig, scale: float) -> Figures:
    """Nothing passes for two minutes, and no connection is told."""
    length = max(15.0, 120 * scale)
    rig.submit("lost", SLEEP)
    rig.submit("patient", SLEEP, Disconnect={"LostAfter": 3600 * SECOND})
    rig.submit("leaves", SLEEP, Disconnect={"StopOnClientAfter": 8 * SECOND})
    for name in ("lost", "patient", "leaves"):
        rig.running(name)
    before = {name: rig.started(name) for name in ("lost", "patient", "leaves")}
    with _cut(rig):
        cut_at = _CLOCK.monotonic()
        rig.until(lambda: rig.node()["Status"] == "disconnected", "it is missed", 40)
        noticed = _CLOCK.monotonic() - cut_at
        (gone,) = before["leaves"]
        rig.until(lambda: not rig.agent.census().keepers[gone], "what was not to run on ended", 40)
        time.sleep(max(0.0, length - (_CLOCK.monotonic() - cut_at)))
        census = rig.agent.census()
        for name in ("lost", "patient"):
            (alloc_id,) = before[name]
            require(f"tasks of {name} in the dark", census.keepers[alloc_id], 1)
    began = _CLOCK.monotonic()
    rig.ready()
    back = _CLOCK.monotonic() - began
    for name in ("lost", "patient", "leaves"):
        rig.running(name)
    rig.check()
    if rig.started("patient") != before["patient"]:
        raise WrongCount("what was waited for was started anew")
    if before["lost"].keys() & rig.started("lost").keys():
        raise WrongCount("what was lost runs on beside its successor")
    return {"partition_s": length, "missed_after_s": noticed, "back_after_s": back}


def disk_full(rig: Rig, _scale: float) -> Figures:
    """The disk of the agent has no byte left while tasks run, end and come."""
    rig.submit("stays", "while :; do echo line; sleep 0.1; done")
    rig.submit("ends", "while [ ! -e $NOMAD_ALLOC_DIR/go ]; do sleep 0.1; done; exit 3")
    (ends,) = rig.running("ends")
    rig.running("stays")
    before = rig.started("stays")
    with _filled(rig.agent.directory):
        rig.submit("late", SLEEP)
        rig.until(lambda: rig.allocations("late", "failed", "pending"), "the new one waits")
        # A link to nothing takes no room of the disk.
        (rig.agent.directory / "alloc" / ends["ID"] / "alloc/go").symlink_to("/dev/null")
        rig.until(lambda: not rig.agent.census().keepers[ends["ID"]], "one ended in the meantime")
        time.sleep(3)
        if not rig.agent.is_running:
            raise WrongCount("the agent ended")
        if rig.started("stays") != before:
            raise WrongCount("a task was started anew")
    rig.submit("after", SLEEP)
    rig.running("after")
    rig.agent.end(signal.SIGKILL)
    rig.agent.start()
    rig.until(lambda: rig.answers(next(iter(before))), "the agent knows its tasks")
    if rig.started("stays") != before:
        raise WrongCount("a task was started anew by the next agent")
    rig.check()
    return {"tasks_kept": 1}


def clock(rig: Rig, _scale: float) -> Figures:
    """The clock of the agent is set on by an hour, then back by two."""
    library = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
    if library is None:
        raise Skipped("no libfaketime on this machine")
    setting = rig.stack.data_dir / "faketime"
    setting.write_text("+0")
    rig.agent.end()
    rig.agent.environment |= {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(setting),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    rig.agent.start()
    rig.ready()
    rig.submit("stays", SLEEP)
    rig.running("stays")
    before = rig.started("stays")
    figures = {}
    for word, by in (("on", "+3600"), ("back", "-3600")):
        name = f"again-{word}"
        rig.submit(name, "sleep 1; exit 1")
        rig.until(partial(_is_delayed, rig, name), "it waits to run again")
        setting.write_text(by)
        began = _CLOCK.monotonic()
        rig.until(partial(_ran_again, rig, name), "it runs again in time", 30)
        figures[f"again_{word}_s"] = _CLOCK.monotonic() - began
        time.sleep(5)
        require("ready nodes", int(rig.node()["Status"] == "ready"), 1)
    if rig.started("stays") != before:
        raise WrongCount("a task was started anew")
    for word in ("on", "back"):
        rig.stop(f"again-{word}")
    rig.until(lambda: sum(rig.agent.census().keepers.values()) == 1, "the others end")
    rig.check()
    return figures


def away(rig: Rig, scale: float) -> Figures:
    """No server for an hour; one task ends meanwhile, and the agent is killed once."""
    length = max(10.0, 3600 * scale)
    patient = {"LostAfter": 7200 * SECOND}
    rig.submit("stays", SLEEP, count=3, driver=_best_driver(), Disconnect=patient)
    if has_network := any(each["Mode"] == "bridge" for each in _networks(rig)):
        rig.submit(
            "netted", SLEEP, driver="exec", Disconnect=patient, Networks=[{"Mode": "bridge"}]
        )
        rig.running("netted")
    rig.submit("ends", "while [ ! -e $NOMAD_ALLOC_DIR/go ]; do sleep 0.1; done; exit 3")
    (ends,) = rig.running("ends")
    rig.running("stays", 3)
    before = rig.started("stays") | rig.started("netted")
    began = _CLOCK.monotonic()
    rig.stack.stop()
    (rig.agent.directory / "alloc" / ends["ID"] / "alloc/go").touch()
    time.sleep(length / 2)
    rig.agent.end(signal.SIGKILL)
    rig.agent.start()
    time.sleep(max(0.0, length - (_CLOCK.monotonic() - began)))
    census = rig.agent.census()
    require("tasks that ran on", sum(census.keepers[each] for each in before), len(before))
    rig.stack.start()
    began = _CLOCK.monotonic()
    rig.ready(120)
    back = _CLOCK.monotonic() - began
    rig.running("stays", 3)
    rig.until(lambda: rig.answers(next(iter(before))), "the agent knows its tasks", 120)
    if rig.started("stays") | rig.started("netted") != before:
        raise WrongCount("a task was started anew")
    rig.check()
    return {"away_s": length, "back_after_s": back, "with_network": float(has_network)}


def many(rig: Rig, scale: float) -> Figures:
    """200 tasks at once: all run, once; what the agent costs with them at rest."""
    began = _CLOCK.monotonic()
    rig.submit("many", SLEEP, count=MANY)
    rig.running("many", MANY, 240)
    took = _CLOCK.monotonic() - began
    rig.check()
    time.sleep(20 * min(1.0, scale))
    cost = _at_rest(rig, max(5.0, 60 * scale))
    if cost["agent_pss_mb"] > MOST_MB:
        raise WrongCount(f"the agent has {cost['agent_pss_mb']:.0f} MiB, {MOST_MB} are its limit")
    rig.stop("many")
    began = _CLOCK.monotonic()
    rig.until(lambda: not rig.agent.census().keepers, "all ended", 240)
    figures = {"tasks": float(MANY), "running_s": took, **cost}
    return {**figures, "ended_s": _CLOCK.monotonic() - began}


def runaway(rig: Rig, _scale: float) -> Figures:
    """Processes that leave session, group and parent, corpses, and output without end.

    No process outlives its task, nobody is left unburied, and no log is longer than it may be.
    """
    rig.submit("runaway", RUNAWAY)
    (alloc,) = rig.running("runaway")
    rig.until(lambda: rig.agent.census().processes[alloc["ID"]] > 40, "they ran away")
    most = rig.agent.census().processes[alloc["ID"]]
    logs = rig.agent.directory / "alloc" / alloc["ID"] / "alloc" / "logs"
    rig.until(lambda: not (logs / "task.stdout.0").exists(), "its first log is full and gone")
    rig.check()
    require("corpses below the agent", rig.agent.corpses(), 0)
    rig.until(lambda: not rig.agent.census().corpses, "what ended is buried")
    longest = 0
    for path in logs.glob("task.stdout.*"):
        # What is written without end is also taken away without end.
        with contextlib.suppress(FileNotFoundError):
            longest = max(longest, path.stat().st_size)
    if longest > MIB:
        raise WrongCount(f"a log has {longest} bytes, {MIB} are its limit")
    rig.stop("runaway")
    rig.until(
        lambda: not (found := rig.agent.census()).keepers and not found.orphans, "all ended", 30
    )
    return {"processes": float(most)}


def bomb(rig: Rig, _scale: float) -> Figures:
    """A fork bomb in a control group that limits processes: the node goes on, and it can end."""
    if os.geteuid() != 0:
        raise Skipped("control groups need root")
    rig.submit("stays", SLEEP)
    rig.running("stays")
    before = rig.started("stays")
    figures = {}
    for driver, script in (("raw_exec", BOMB), ("exec", BOMB_INSIDE)):
        name = f"bomb-{driver}"
        rig.submit(name, script, driver=driver, config={"pids_limit": BOMB_LIMIT})
        (alloc,) = rig.running(name)
        most = 0
        for _ in range(15):
            time.sleep(0.2)
            most = max(most, rig.agent.census().processes[alloc["ID"]])
        if not BOMB_LIMIT // 2 < most <= BOMB_LIMIT:
            raise WrongCount(f"{name} had {most} processes, at most {BOMB_LIMIT} are its limit")
        if rig.started("stays") != before or not rig.agent.is_running:
            raise WrongCount(f"something beside {name} was hit")
        rig.stop(name)
        rig.until(partial(_has_ended, rig, alloc["ID"]), "it ends", 30)
        figures[f"{driver}_processes"] = float(most)
    rig.check()
    return figures


FAULTS: dict[str, Callable[[Rig, float], Figures]] = {
    "kill": kill,
    "reboot": reboot,
    "partition": partition,
    "disk": disk_full,
    "clock": clock,
    "away": away,
    "many": many,
    "runaway": runaway,
    "bomb": bomb,
    "acts": acts,
}


def _networks(rig: Rig) -> list[dict[str, Any]]:
    """Those that the node offers groups."""
    told = rig.get(f"/v1/node/{rig.node()['ID']}")["NodeResources"]["Networks"] or []
    return [dict(each) for each in told]


def _best_driver() -> str:
    """What has more to lose: root, namespaces and groups of its own."""
    return "exec" if os.geteuid() == 0 else "raw_exec"


def _at_rest(rig: Rig, seconds: float) -> Figures:
    before, _ = rig.agent.cost()
    began = _CLOCK.monotonic()
    time.sleep(seconds)
    used, memory = rig.agent.cost()
    return {
        "agent_cpu_percent": 100 * (used - before) / (_CLOCK.monotonic() - began),
        "agent_pss_mb": memory,
        "beside_tasks_pss_mb": rig.agent.keepers_mb(),
        "load": os.getloadavg()[0],
    }


def _same(now: dict[str, str], before: dict[str, str]) -> bool:
    return any(now[key] == before[key] for key in before)


def _states(rig: Rig, job_id: str) -> list[dict[str, Any]]:
    """Of the job's tasks, as far as the agent has told of them."""
    return [each["TaskStates"]["task"] for each in rig.allocations(job_id) if each["TaskStates"]]


def _has_ended(rig: Rig, alloc_id: str) -> bool:
    return not rig.agent.census().keepers[alloc_id]


def _is_delayed(rig: Rig, job_id: str) -> bool:
    return any(state["Events"][-1]["Type"] == "Restarting" for state in _states(rig, job_id))


def _ran_again(rig: Rig, job_id: str) -> bool:
    return any(state["Restarts"] >= 2 for state in _states(rig, job_id))


@contextlib.contextmanager
def _cut(rig: Rig) -> Iterator[None]:
    """No packet passes between the agent's address and the server's."""
    if not rig.agent.prefix:
        raise Skipped("the agent has no network of its own here")
    namespace = rig.agent.prefix[3]  # ip netns exec NAME
    link = ["ip", "-n", namespace, "link", "set", "inside"]
    subprocess.run([*link, "down"], check=True)  # noqa: S603 - our own namespace
    try:
        yield
    finally:
        subprocess.run([*link, "up"], check=True)  # noqa: S603 - our own namespace


@contextlib.contextmanager
def _filled(directory: Path) -> Iterator[None]:
    """The file system of the directory has no room."""
    if os.statvfs(directory).f_blocks * os.statvfs(directory).f_frsize > 64 * MIB:
        raise Skipped("the agent has no small disk of its own here")
    ballast = directory / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    try:
        yield
    finally:
        ballast.unlink()
