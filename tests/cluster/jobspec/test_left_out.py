"""What a job asks for in vain: every field has a row, and whoever asks is told by name."""

from pathlib import Path

import msgspec
import pytest

from cluster.agent.drivers.docker.options import DockerOptions
from cluster.agent.drivers.exec import ExecOptions
from cluster.agent.drivers.mock import MockOptions
from cluster.agent.drivers.raw_exec import RawExecOptions
from cluster.jobspec.carried_out import BLOCKS, TABLE, Fate
from cluster.jobspec.driver_options import OPTIONS
from cluster.jobspec.left_out import (
    HEAD,
    left_out_warnings,
    option_refusals,
    parts_left_out,
    set_up_refusals,
    structs_in,
)
from cluster.jobspec.parse import parse_job, parse_text
from cluster.operations.admission import warnings_about, warnings_of_reference
from scheduler.state.memory_store import MemoryStateStore
from scheduler.structs.job import Job
from tests.cluster.jobspec.rules.places import document_of, group, job, task

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.hcl"))
CHECK = {"Name": "c", "Type": "tcp", "Interval": 10**9, "Timeout": 10**9}
SERVED = {"Name": "s", "Provider": "nomad", "PortLabel": "p", "Checks": [CHECK]}


def structs_of_a_job():
    """Every struct that a job is made of."""
    found, ahead = [], [Job]
    while ahead:
        kind = ahead.pop()
        if kind not in found:
            found.append(kind)
            for field in msgspec.structs.fields(kind):
                ahead += structs_in(kind, field.name)
    return found


def test_every_field_of_every_struct_of_a_job_has_a_row():
    fields = {kind: {each.name for each in msgspec.structs.fields(kind)} for kind in TABLE}
    assert {kind: set(rows) for kind, rows in TABLE.items()} == fields
    assert set(structs_of_a_job()) == set(TABLE) == set(BLOCKS)


def test_drivers_read_exactly_the_options_that_are_said_to_work():
    readers = {
        "raw_exec": RawExecOptions,
        "exec": ExecOptions,
        "docker": DockerOptions,
        "mock_driver": MockOptions,
    }
    # Another word for `mounts`, as job files write a block.
    also = {"docker": {"mount"}}
    assert readers.keys() == OPTIONS.keys()
    for driver, options in readers.items():
        works = {name for name, row in OPTIONS[driver].items() if row.fate is Fate.WORKS}
        read = {field.name for field in msgspec.structs.fields(options)}
        assert works == read | also.get(driver, set())


def in_task(**fields):
    return job(TaskGroups=[group(Tasks=[task(**fields)])])


def in_group(**fields):
    return job(TaskGroups=[group(**fields)])


WAITS = ", so its group waits for a node that offers it"
TASK_ENDS = ", so a real node fails the task before it starts"
CASES = [
    pytest.param(
        in_task(Artifacts=[{"GetterSource": "s3::https://x/y"}]),
        f'artifact.source of task "g.t": only sources of http, https, git are fetched{TASK_ENDS}',
        id="artifact",
    ),
    pytest.param(
        in_task(Services=[{**SERVED, "PortLabel": "80", "Provider": "consul"}]),
        'service.provider of task "g.t": there is no connection to Consul' + WAITS,
        id="service of a task",
    ),
    pytest.param(
        in_group(
            Services=[{**SERVED, "Provider": "consul"}],
            Networks=[{"DynamicPorts": [{"Label": "p"}]}],
        ),
        'service.provider of group "g": there is no connection to Consul' + WAITS,
        id="service of a group",
    ),
    pytest.param(
        in_task(Identities=[{"Name": "a", "Audience": ["x"], "ExtraClaims": {"b": "c"}}]),
        'identity.extra_claims of task "g.t": the claims of a namespace are not signed in yet'
        f"{TASK_ENDS}",
        id="another claim",
    ),
    pytest.param(
        in_group(
            Volumes={
                "v": {
                    "Type": "csi",
                    "Source": "x",
                    "AccessMode": "multi-node-multi-writer",
                    "AttachmentMode": "file-system",
                }
            }
        ),
        'volume of group "g": only volumes of type `host` are there: plugins for others (CSI) are'
        f" not run{WAITS}",
        id="volume",
    ),
    pytest.param(
        in_task(VolumeMounts=[{"Volume": "v", "Destination": "/v"}]),
        'volume_mount of task "g.t": the driver mock_driver leaves the task in the files of its'
        f" host and shows no volume elsewhere{TASK_ENDS}",
        id="mount",
    ),
    pytest.param(
        in_group(
            Volumes={"v": {"Type": "host", "Source": "x"}},
            Tasks=[
                task(
                    Name="t",
                    Driver="exec",
                    Config={"command": "x"},
                    VolumeMounts=[
                        {"Volume": "v", "Destination": "/v", "PropagationMode": "bidirectional"}
                    ],
                )
            ],
        ),
        'propagation_mode "bidirectional" of task "g.t": a task of the driver exec passes no'
        f" mounts of its own on to the host{TASK_ENDS}",
        id="mounts outward",
    ),
    pytest.param(
        in_group(
            Networks=[{"Mode": "bridge", "DNS": {"Servers": ["192.0.2.1"]}}],
            Tasks=[task(Name="t", Driver="raw_exec", Config={"command": "x"})],
        ),
        'network.dns of task "g.t": tasks of the driver raw_exec have the resolver of their host',
        id="resolver",
    ),
    pytest.param(
        in_group(
            Networks=[{"Mode": "bridge", "Hostname": "box"}],
            Tasks=[task(Name="t", Driver="raw_exec", Config={"command": "x"})],
        ),
        'network.hostname of task "g.t": tasks of the driver raw_exec have the name of their'
        f" host{TASK_ENDS}",
        id="host name",
    ),
    pytest.param(
        in_task(Driver="raw_exec", Config={"comand": "x"}),
        f'option "comand" of task "g.t": raw_exec has no such option{TASK_ENDS}',
        id="misspelt option",
    ),
    pytest.param(
        in_task(Vault={"Role": "r"}),
        f'vault of task "g.t": there is no connection to Vault{WAITS}',
        id="vault",
    ),
    pytest.param(
        in_task(Secrets=[{"Name": "a", "Provider": "custom", "Path": "p"}]),
        f'secret.provider of task "g.t": only secrets of the provider `nomad` are fetched{WAITS}',
        id="secret",
    ),
    pytest.param(
        in_task(CSIPluginConfig={"ID": "p", "Type": "node"}),
        f'csi_plugin of task "g.t": plugins for volumes are not run yet{TASK_ENDS}',
        id="csi plugin",
    ),
    pytest.param(
        in_task(ScalingPolicies=[{"Type": "vertical_cpu", "Max": 3}]),
        'scaling of task "g.t": kept with the job; nothing here resizes tasks by it',
        id="scaling",
    ),
]


@pytest.mark.parametrize(("document", "text"), CASES)
def test_what_is_not_carried_out_is_warned_of_by_name(document, text):
    assert left_out_warnings(parse_job(document)) == (HEAD + text,)


@pytest.mark.parametrize(("document", "text"), CASES)
def test_a_node_refuses_exactly_what_the_warning_says_it_will(document, text):
    refusals = set_up_refusals(parse_job(document).task_groups[0])

    # Options are the driver's to refuse, once their values are known.
    assert bool(refusals) is (text.endswith((TASK_ENDS, WAITS)) and not text.startswith("option"))


def test_the_same_thing_at_several_places_is_told_once():
    tasks = [
        task(Name=f"t{number}", Artifacts=[{"GetterSource": "s3::https://x/y"}] * 2)
        for number in range(5)
    ]
    (told,) = left_out_warnings(parse_job(in_group(Tasks=tasks)))
    assert told == (
        'Not carried out: artifact.source of task "g.t0", "g.t1", "g.t2" and 2 more: only sources'
        " of http, https, git are fetched, so a real node fails the task before it starts"
    )


def test_our_warnings_come_after_those_of_the_reference():
    document = document_of("task", {"Artifacts": [{"GetterSource": "s3::https://x/y"}]})
    document["TaskGroups"][0]["Networks"] = [{"MBits": 5}]
    parsed = parse_job(document)
    store = MemoryStateStore()

    first = warnings_of_reference(store, parsed)
    assert [text.partition(":")[0] for text in first] == ['Group "g" has warnings']
    assert warnings_about(store, parsed) == (*first, *left_out_warnings(parsed))


def test_a_part_knows_its_place_in_the_text():
    text = """
job "a" {
  group "g" {
    task "one" {
      driver = "raw_exec"
      config { command = "true" }
    }
    task "two" {
      driver = "raw_exec"
      config { command = "true" }
      artifact { source = "s3::https://x/y" }
    }
  }
}
"""
    (part,) = parts_left_out(parse_text(text).job)
    assert (part.place, part.path) == (
        ("g", "two"),
        "TaskGroups[0].Tasks[1].Artifacts[0].GetterSource",
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_ask_for_nothing_in_vain(path):
    assert [part.name for part in parts_left_out(parse_text(path.read_text()).job)] == []


def test_an_option_that_is_null_is_not_given():
    config = {"command": "true", "cgroup_v2_override": None}
    assert left_out_warnings(parse_job(in_task(Driver="raw_exec", Config=config))) == ()
    assert option_refusals("raw_exec", config) == []
