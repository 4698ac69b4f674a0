"""What an open request becomes when it is stored."""

import pytest

from cluster.jobspec.parse import parse_job
from scheduler.structs.constraint import Constraint
from scheduler.structs.identity import JobKey
from scheduler.structs.policies import MINUTE, SECOND, UpdateStrategy


def group_of(document):
    return parse_job({"ID": "a", "TaskGroups": [{"Name": "g"} | document]}).task_groups[0]


def test_a_bare_job_takes_every_default():
    job = parse_job({"ID": "a"})
    assert (job.key, job.name, job.type, job.priority, job.datacenters, job.node_pool) == (
        JobKey("default", "a"), "a", "service", 50, ("*",), "",
    )  # fmt: skip
    assert job.update == UpdateStrategy(stagger=30 * SECOND, max_parallel=1)


def test_a_group_stands_on_its_jobs_update_policy():
    document = {
        "ID": "a",
        "Update": {"MaxParallel": 3, "Canary": 2},
        "TaskGroups": [{"Name": "g", "Update": {"Canary": 0}}],
    }
    assert parse_job(document).task_groups[0].update == UpdateStrategy(
        stagger=30 * SECOND,
        max_parallel=3,
        health_check="checks",
        min_healthy_time=10 * SECOND,
        healthy_deadline=5 * MINUTE,
        progress_deadline=10 * MINUTE,
    )


@pytest.mark.parametrize(
    ("document", "constraints"),
    [
        pytest.param(
            {"Services": [{"Name": "s", "Provider": "nomad"}]},
            (Constraint(l_target="${attr.nomad.service_discovery}", r_target="true"),),
            id="service",
        ),
        pytest.param(
            {
                "Tasks": [
                    {"Name": "t", "KillSignal": "SIGINT"},
                    {"Name": "u", "KillSignal": "SIGHUP"},
                ]
            },
            (
                Constraint(
                    l_target="${attr.os.signals}", operand="set_contains", r_target="SIGHUP,SIGINT"
                ),
            ),
            id="signals",
        ),
    ],
)
def test_what_tasks_use_becomes_a_constraint(document, constraints):
    assert group_of(document).constraints == constraints


def test_a_task_that_asks_for_cores_gets_no_shares_beside_them():
    tasks = group_of({"Tasks": [{"Name": "t", "Resources": {"Cores": 2}}, {"Name": "u"}]}).tasks
    assert [(task.resources.cores, task.resources.cpu) for task in tasks] == [(2, 0), (0, 100)]


def test_older_disconnect_fields_are_not_taken_over():
    group = group_of({"MaxClientDisconnect": MINUTE, "PreventRescheduleOnLost": True})
    assert group.disconnect is None
    assert (group.max_client_disconnect, group.prevent_reschedule_on_lost) == (None, False)


def test_a_csi_plugin_is_mounted_where_nothing_else_is_said():
    task = {"Name": "t", "Driver": "docker", "CSIPluginConfig": {"ID": "p", "Type": "node"}}
    plugin = group_of({"Tasks": [task]}).tasks[0].csi_plugin_config
    assert (plugin["MountDir"], plugin["StagePublishBaseDir"]) == ("/csi", "/local/csi")


def test_a_sidecar_task_keeps_its_output_as_every_task_does():
    service = {"Name": "s", "Connect": {"SidecarService": {}, "SidecarTask": {"Driver": "docker"}}}
    task = group_of({"Services": [service]}).services[0].connect["SidecarTask"]
    assert task["LogConfig"] == {"MaxFiles": 10, "MaxFileSizeMB": 10, "Disabled": False}
