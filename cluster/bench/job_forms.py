"""The jobs that benchmarks submit, as the API takes them."""

from collections.abc import Sequence
from typing import Any


def job_form(
    name: str,
    *,
    count: int = 1,
    cpu: int = 100,
    memory_mb: int = 10,
    kind: str = "service",
    datacenters: Sequence[str] = ("*",),
) -> dict[str, Any]:
    """A job of one group with one task that runs until it is stopped."""
    return {
        "ID": name,
        "Name": name,
        "Type": kind,
        "Datacenters": [*datacenters],
        "TaskGroups": [
            {
                "Name": "group",
                # System jobs have one allocation per node and no count.
                **({} if kind == "system" else {"Count": count}),
                "EphemeralDisk": {"SizeMB": 10},
                "Tasks": [
                    {
                        "Name": "task",
                        "Driver": "mock_driver",
                        "Config": {"run_for": "1000h"},
                        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
                        "Resources": {"CPU": cpu, "MemoryMB": memory_mb},
                    }
                ],
            }
        ],
    }
