"""The machines and jobs of simulated clusters: small, unlike, and too many for the room.

In: a kind, a revision, a count. Out: a job as a person would submit it, or a machine. A revision
replaces what runs; one that is bad fails its health on every node.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cluster.jobspec.parse import parse_job
from scheduler.structs.device import DeviceGroup, DeviceInstance
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress
from scheduler.structs.node import (
    DriverInfo,
    Node,
    NodeCpu,
    NodeDisk,
    NodeMemory,
    NodeResources,
    NodeStatus,
    ReservedNetworks,
    ReservedResources,
)

SECOND = 1_000_000_000
Document = dict[str, Any]

#: The namespace that has a quota, and the quota.
TEAM = "team"
#: In the environment of a task whose health is bad.
BAD = "BAD"
#: Seconds that an allocation of a batch job runs.
BATCH_RUNS_S = 8.0

_DRIVER = "mock_driver"
_RESCHEDULED: Document = {"Delay": 5 * SECOND, "DelayFunction": "constant", "Unlimited": True}
_MOVED: Document = {
    "MaxParallel": 1,
    "HealthCheck": "task_states",
    "MinHealthyTime": SECOND,
    "HealthyDeadline": 30 * SECOND,
}


def machine(number: int) -> Node:
    """One of two classes; few ports to choose from, some kept for itself; every other has GPUs."""
    address = f"10.0.0.{number + 1}"
    gpus = DeviceGroup(
        vendor="acme",
        type="gpu",
        name="x1",
        instances=(DeviceInstance(id="gpu-0"), DeviceInstance(id="gpu-1")),
    )
    return Node(
        id=f"aaaaaaaa-0000-0000-0000-{number:012x}",
        name=f"node-{number}",
        node_class="even" if number % 2 == 0 else "odd",
        attributes={"kernel.name": "linux", "cpu.arch": "amd64", f"driver.{_DRIVER}": "1"},
        drivers={_DRIVER: DriverInfo(detected=True, healthy=True)},
        node_resources=NodeResources(
            cpu=NodeCpu(cpu_shares=4000, total_cpu_cores=4, reservable_cpu_cores=(0, 1, 2, 3)),
            memory=NodeMemory(memory_mb=4096),
            disk=NodeDisk(disk_mb=100 * 1024),
            networks=(NetworkResource(mode="host", device="eth0", ip=address),),
            node_networks=(
                NodeNetwork(
                    mode="host",
                    device="eth0",
                    addresses=(NodeNetworkAddress(alias="default", address=address),),
                ),
            ),
            devices=(gpus,) if number % 2 else (),
            min_dynamic_port=20_000,
            max_dynamic_port=20_015,
        ),
        reserved_resources=ReservedResources(
            networks=ReservedNetworks(reserved_host_ports="22,20000-20003")
        ),
        status=NodeStatus.INITIALIZING,
    )


@lru_cache(maxsize=2048)
def job(kind: str, revision: int, count: int, *, is_bad: bool = False) -> Job:
    """A job of a kind, as a person submits it."""
    return parse_job(document(kind, revision, count, is_bad=is_bad))


def document(kind: str, revision: int, count: int, *, is_bad: bool = False) -> Document:
    """The same as JSON."""
    environment = {"REVISION": str(revision)}
    if is_bad:
        environment[BAD] = "1"
    task: Document = {
        "Name": "main",
        "Driver": _DRIVER,
        "Env": environment,
        "Resources": {"CPU": 500, "MemoryMB": 128},
    }
    group: Document = {"Name": "main", "Count": count, "Tasks": [task]}
    whole: Document = {"ID": kind, "Type": "service", "TaskGroups": [group]}
    KINDS[kind](whole, group, task)
    return whole


def _rolling(group: Document, **update: object) -> None:
    group["Update"] = {
        "MaxParallel": 1,
        "HealthCheck": "task_states",
        "MinHealthyTime": 2 * SECOND,
        "HealthyDeadline": 20 * SECOND,
        "ProgressDeadline": 45 * SECOND,
        **update,
    }
    group["ReschedulePolicy"] = _RESCHEDULED
    group["Migrate"] = _MOVED


def _web(whole: Document, group: Document, task: Document) -> None:
    _rolling(group, MaxParallel=2)
    group["Networks"] = [{"Mode": "host", "DynamicPorts": [{"Label": "http"}]}]


def _shop(whole: Document, group: Document, task: Document) -> None:
    _rolling(group, Canary=1, AutoRevert=True)


def _blue(whole: Document, group: Document, task: Document) -> None:
    group["Count"] = count = max(1, min(group["Count"], 3))
    _rolling(group, MaxParallel=count, Canary=count, AutoPromote=True, AutoRevert=True)


def _gate(whole: Document, group: Document, task: Document) -> None:
    group["Count"] = min(group["Count"], 4)
    _rolling(group)
    group["Networks"] = [
        {
            "Mode": "host",
            "ReservedPorts": [{"Label": "admin", "Value": 8080}],
            "DynamicPorts": [{"Label": "http"}],
        }
    ]


def _core(whole: Document, group: Document, task: Document) -> None:
    _rolling(group)
    task["Resources"] = {"Cores": 1, "MemoryMB": 128}


def _gpu(whole: Document, group: Document, task: Document) -> None:
    _rolling(group)
    task["Resources"]["Devices"] = [{"Name": "gpu", "Count": 1}]


def _edge(whole: Document, group: Document, task: Document) -> None:
    _rolling(group)
    group["Disconnect"] = {"LostAfter": 60 * SECOND, "Replace": True, "Reconcile": "best_score"}


def _keep(whole: Document, group: Document, task: Document) -> None:
    _rolling(group)
    group["Disconnect"] = {
        "LostAfter": 40 * SECOND,
        "Replace": False,
        "Reconcile": "keep_original",
    }


def _low(whole: Document, group: Document, task: Document) -> None:
    whole["Priority"] = 20
    _rolling(group, MaxParallel=3)
    task["Resources"] = {"CPU": 1400, "MemoryMB": 512}


def _high(whole: Document, group: Document, task: Document) -> None:
    whole["Priority"] = 90
    _rolling(group)
    task["Resources"] = {"CPU": 1800, "MemoryMB": 1024}


def _apart(whole: Document, group: Document, task: Document) -> None:
    _rolling(group)
    group["Constraints"] = [{"Operand": "distinct_hosts", "RTarget": "true"}]
    group["Spreads"] = [{"Attribute": "${node.class}", "Weight": 50}]


def _team(whole: Document, group: Document, task: Document) -> None:
    whole["Namespace"] = TEAM
    _rolling(group, MaxParallel=2)


def _night(whole: Document, group: Document, task: Document) -> None:
    whole["Type"] = "batch"
    group["ReschedulePolicy"] = {
        "Attempts": 3,
        "Interval": 3600 * SECOND,
        "Delay": 5 * SECOND,
        "DelayFunction": "constant",
        "Unlimited": False,
    }


def _logs(whole: Document, group: Document, task: Document) -> None:
    whole["Type"] = "system"
    whole["Priority"] = 70
    del group["Count"]
    task["Resources"] = {"CPU": 200, "MemoryMB": 64}
    group["Update"] = {
        "MaxParallel": 2,
        "HealthCheck": "task_states",
        "MinHealthyTime": 2 * SECOND,
        "HealthyDeadline": 20 * SECOND,
        "ProgressDeadline": 45 * SECOND,
    }


def _sweep(whole: Document, group: Document, task: Document) -> None:
    whole["Type"] = "sysbatch"
    del group["Count"]
    task["Resources"] = {"CPU": 100, "MemoryMB": 64}


def _form(whole: Document, group: Document, task: Document) -> None:
    _night(whole, group, task)
    group["Count"] = max(1, min(group["Count"], 2))
    whole["ParameterizedJob"] = {"Payload": "optional", "MetaOptional": ["who"]}


def _clock(whole: Document, group: Document, task: Document) -> None:
    """It begins each minute, and now and then the one before still runs."""
    _night(whole, group, task)
    prohibits = group["Count"] % 2 == 1
    group["Count"] = 1
    whole["Periodic"] = {"Enabled": True, "Spec": "* * * * *", "ProhibitOverlap": prohibits}


KINDS: dict[str, Callable[[Document, Document, Document], None]] = {
    "web": _web,
    "shop": _shop,
    "blue": _blue,
    "gate": _gate,
    "core": _core,
    "gpu": _gpu,
    "edge": _edge,
    "keep": _keep,
    "low": _low,
    "high": _high,
    "apart": _apart,
    "team": _team,
    "night": _night,
    "logs": _logs,
    "sweep": _sweep,
    "form": _form,
    "clock": _clock,
}
