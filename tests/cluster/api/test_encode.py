"""Structs as JSON: instants, nulls, what is left out."""

import pytest

from cluster.api.encode import complete_form, instant_text, to_plain, with_additions
from scheduler.structs.allocation import Allocation, TaskEvent, TaskState
from scheduler.structs.deployment import Deployment
from scheduler.structs.evaluation import Evaluation
from scheduler.structs.job import Job
from scheduler.structs.network import NetworkResource, Port
from scheduler.structs.node import Node, NodeCpu, ReservedResources
from scheduler.structs.policies import UpdateStrategy
from scheduler.structs.task_group import Task


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, None),
        (1_795_256_111_000_000_000, "2026-11-21T10:15:11Z"),
        (1_795_256_111_902_021_000, "2026-11-21T10:15:11.902021Z"),
        (1_795_256_111_000_000_001, "2026-11-21T10:15:11.000000001Z"),
    ],
)
def test_instants_are_text_or_null(at, text):
    assert instant_text(at) == text
    assert to_plain(TaskState(started_at=at))["StartedAt"] == text


def test_empty_lists_and_maps_are_null_unless_clients_need_them():
    job, node, task = to_plain(Job(datacenters=())), to_plain(Node()), to_plain(Task())

    assert (job["Constraints"], job["Meta"], job["Payload"]) == (None, None, None)
    assert (job["Datacenters"], task["Config"], task["Env"]) == ([], {}, None)
    assert (node["Attributes"], node["Events"], node["HostNetworks"]) == ({}, [], None)


def test_an_event_of_a_task_has_details_even_when_there_are_none():
    assert to_plain(TaskEvent(type="Started"))["Details"] == {}


def test_some_types_leave_zero_values_out():
    network = NetworkResource(ip="10.0.0.1", dynamic_ports=(Port(label="http", value=80),))

    assert to_plain(network) == {
        "IP": "10.0.0.1",
        "DynamicPorts": [{"Label": "http", "Value": 80}],
    }
    assert to_plain(Evaluation(id="a")) == {
        "ID": "a",
        "Namespace": "default",
        "Priority": 50,
        "Status": "pending",
    }


def test_stubs_need_every_field():
    form = complete_form(Evaluation(id="a"))

    assert (form["NextEval"], form["WaitUntil"], form["CreateIndex"]) == ("", None, 0)


def test_our_additions_are_left_out_at_their_defaults():
    assert "Strategy" not in to_plain(UpdateStrategy(strategy="deployment"))
    assert to_plain(UpdateStrategy(strategy="stagger"))["Strategy"] == "stagger"
    assert not {"Cause", "CountedEvals"} & with_additions(Evaluation()).keys()


def test_our_additions_are_left_out_where_nobody_asks_for_them():
    evaluation = Evaluation(counted_evals=("a",), story_id="s")
    assert not {"CountedEvals"} & (to_plain(evaluation) | complete_form(evaluation)).keys()
    assert with_additions(evaluation)["CountedEvals"] == ["a"]


def test_the_story_of_an_evaluation_is_told_to_everybody():
    assert to_plain(Evaluation(story_id="s"))["Story"] == "s"
    assert with_additions(Evaluation(story_id="s"))["Story"] == "s"
    assert "Story" not in to_plain(Evaluation()) | with_additions(Evaluation())
    assert "Story" not in to_plain(Deployment(story_id="s"))


def test_the_desired_transition_is_always_an_object():
    assert to_plain(Allocation())["DesiredTransition"] == {
        "Migrate": None,
        "Reschedule": None,
        "ForceReschedule": None,
        "NoShutdownDelay": None,
        "MigrateDisablePlacement": None,
    }


def test_what_never_leaves_the_server_is_not_there():
    node = to_plain(Node(secret_id="hash"))

    assert node["SecretID"] == ""
    assert {"JobVersion", "JobPriority"}.isdisjoint(to_plain(Allocation(job_version=3)))


def test_irregular_names_are_the_references():
    assert set(to_plain(NodeCpu())) == {"CpuShares", "TotalCpuCores", "ReservableCpuCores"}
    assert "Cpu" in to_plain(ReservedResources())
