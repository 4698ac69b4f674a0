"""Deciding a capsule whose jobs leave open what a registration fills in."""

import pytest

from cluster.jobspec.patterns import Re2Matcher
from cluster.operations.capsules import decide_capsule
from scheduler.engine.capsule import CapsuleError
from scheduler.structs.policies import SECOND

NOW = 1_750_000_000 * SECOND
NODE = {
    "ID": "node",
    "Status": "ready",
    "Attributes": {"driver.exec": "1"},
    "Drivers": {"exec": {"Detected": True, "Healthy": True}},
    "NodeResources": {
        "Cpu": {"CpuShares": 4000},
        "Memory": {"MemoryMB": 4096},
        "Disk": {"DiskMB": 10000},
        "Networks": [{"Mode": "host", "Device": "eth0", "IP": "10.0.0.1"}],
    },
}
JOB = {
    "ID": "web",
    "CreateIndex": 5,
    "JobModifyIndex": 5,
    "TaskGroups": [{"Name": "web", "Tasks": [{"Name": "web", "Driver": "exec"}]}],
}


def capsule(**fields: object) -> dict[str, object]:
    evaluation = {"ID": "e", "JobID": "web", "Type": "service", "TriggeredBy": "job-register"}
    return {
        "Now": NOW,
        "Index": 9,
        "Nodes": [NODE],
        "Jobs": [JOB],
        "Evaluation": evaluation,
        **fields,
    }


def test_a_job_gets_the_defaults_of_a_registration():
    failed = {
        "ID": "a",
        "Name": "web.web[0]",
        "NodeID": "node",
        "JobID": "web",
        "TaskGroup": "web",
        "ClientStatus": "failed",
        "ModifyTime": NOW,
        "CreateIndex": 6,
    }
    decision = decide_capsule(capsule(Allocations=[failed]), Re2Matcher())
    (followup,) = decision["CreatedEvals"]
    # A service job is replaced after 30 s unless it says otherwise.
    assert followup["WaitUntil"] == NOW + 30 * SECOND


def test_a_fault_is_named_by_its_place_in_the_given_document():
    with pytest.raises(CapsuleError) as refusal:
        decide_capsule(capsule(Jobs=[{**JOB, "Priority": "high"}]), Re2Matcher())
    assert refusal.value.path == "$.Jobs[0].Priority"
