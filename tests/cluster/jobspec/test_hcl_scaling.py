"""Scaling blocks of job files: what they become, and what is wrong with them, where it stands."""

import pytest

from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.problems import JobProblems

FILE = 'job "a" {\n group "g" {\n%s\n  task "t" {\n   driver = "x"\n%s\n  }\n }\n}\n'


def parsed(group="", task=""):
    form, _ = parse_hcl(FILE % (group, task), "")
    (read,) = form["TaskGroups"]
    return read["Scaling"], read["Tasks"][0]["ScalingPolicies"]


def problems(group="", task=""):
    with pytest.raises(JobProblems) as refused:
        parsed(group, task)
    return [(each.line, each.column, each.message) for each in refused.value.problems]


def test_a_group_is_scaled_horizontally_within_its_bounds():
    policy, of_task = parsed(
        'scaling {\n min = 1\n max = 3\n enabled = false\n policy {\n cooldown = "1m"\n'
        ' check "load" {\n source = "prometheus"\n strategy "target-value" {\n target = 3\n'
        " }\n }\n }\n}"
    )
    assert of_task is None
    names = ("Type", "Min", "Max", "Enabled")
    assert tuple(policy[name] for name in names) == ("horizontal", 1, 3, False)
    assert policy["Policy"] == {
        "cooldown": "1m",
        "check": [
            {"load": [{"source": "prometheus", "strategy": [{"target-value": [{"target": 3}]}]}]}
        ],
    }


@pytest.mark.parametrize(
    ("label", "kind"), [("cpu", "vertical_cpu"), ("MEM", "vertical_mem"), ("mem", "vertical_mem")]
)
def test_a_task_is_scaled_vertically(label, kind):
    block = f'scaling "{label}" {{\n min = 10\n max = 30\n type = "{kind}"\n}}'
    _, (policy,) = parsed(task=block)
    assert (policy["Type"], policy["Min"], policy["Max"]) == (kind, 10, 30)
    assert "@type" not in policy


PROBLEMS = [
    pytest.param(
        "scaling {\n min = 3\n}", "", "3,9-9", "Missing required argument",
        'The argument "max" is required, but no definition was found.', id="F21-no-max",
    ),
    pytest.param(
        'scaling {\n max = 3\n type = "vertical_cpu"\n}', "", "5,9-23",
        "Invalid group scaling type",
        'task group scaling policy had invalid type: "vertical_cpu"', id="F22-group-type",
    ),
    pytest.param(
        "", 'scaling "disk" {\n max = 3\n}', "6,9-15", "Invalid scaling policy name",
        'scaling policy name must be "cpu" or "mem"', id="F23-task-label",
    ),
    pytest.param(
        "", 'scaling "cpu" {\n max = 3\n}\nscaling "CPU" {\n max = 4\n}', "9,1-8",
        'Duplicate scaling "cpu" block',
        "Only one scaling cpu block is allowed. Another was defined at input.hcl:6,1.",
        id="F24-twice",
    ),
    pytest.param(
        "", 'scaling "cpu" {\n max = 3\n type = "vertical_mem"\n}', "8,9-23",
        "Invalid scaling policy type",
        'Invalid policy type, expected "vertical_cpu" but found "vertical_mem"',
        id="F25-task-type",
    ),
    pytest.param(
        "scaling {\n max = 3\n}\nscaling {\n max = 4\n}", "", "6,1-8",
        "Duplicate scaling block",
        "Only one scaling block is allowed. Another was defined at input.hcl:3,1.",
        id="F4-group-twice",
    ),
    pytest.param(
        'scaling {\n max = "many"\n}', "", "4,8-14", "Unsuitable value type",
        "Unsuitable value: a number is required", id="F15-no-number",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("group", "task", "place", "summary", "detail"), PROBLEMS)
def test_what_is_wrong_is_named_at_its_place(group, task, place, summary, detail):
    line, column = map(int, place.partition("-")[0].split(","))
    message = f"input.hcl:{place}: {summary}; {detail}"
    assert problems(group, task) == [(line, column, message)]
