"""Two versions of a job and the difference the API shows."""

import pytest

from cluster.jobspec.diff import annotate, diff_jobs
from cluster.jobspec.diff_structs import FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff
from cluster.jobspec.parse import parse_job
from scheduler.structs.plan_annotations import DesiredUpdates

SECOND = 1_000_000_000
IN_PLACE, REPLACED = "forces in-place update", "forces create/destroy update"


def job(count=1, **task):
    base = {"Name": "t", "Driver": "raw_exec"}
    group = {"Name": "g", "Count": count, "Tasks": [base | task]}
    return parse_job({"ID": "a", "TaskGroups": [group]})


def test_equal_versions_list_their_groups_and_tasks_as_unchanged():
    assert diff_jobs(job(), job()) == JobDiff(
        id="a", task_groups=(TaskGroupDiff(name="g", tasks=(TaskDiff(name="t"),)),)
    )


def test_a_changed_count_forces_allocations_and_spares_the_task():
    diff = annotate(diff_jobs(job(1), job(3)), {"g": DesiredUpdates(place=2, ignore=1)})
    count = FieldDiff(
        type="Edited", name="Count", old="1", new="3", annotations=("forces create",)
    )
    group = TaskGroupDiff(
        type="Edited",
        name="g",
        fields=(count,),
        tasks=(TaskDiff(name="t"),),
        updates={"ignore": 1, "create": 2},
    )
    assert diff == JobDiff(type="Edited", id="a", task_groups=(group,))


def test_driver_options_are_flattened_and_force_a_replacement():
    diff = annotate(diff_jobs(job(Config={"args": ["a"]}), job(Config={"args": ["a", "b"]})), {})
    changed = ObjectDiff(
        type="Edited",
        name="Config",
        fields=(
            FieldDiff(name="args[0]", old="a", new="a"),
            FieldDiff(type="Added", name="args[1]", new="b"),
        ),
    )
    assert diff.task_groups[0].tasks[0] == TaskDiff(
        type="Edited", name="t", objects=(changed,), annotations=("forces create/destroy update",)
    )


def test_a_longer_farewell_is_taken_in_place():
    diff = annotate(diff_jobs(job(), job(KillTimeout=9_000_000_000)), {})
    assert diff.task_groups[0].tasks[0].annotations == ("forces in-place update",)


@pytest.mark.parametrize(
    ("fields", "annotation"),
    [
        pytest.param({"KillTimeout": 9 * SECOND}, IN_PLACE, id="J28 kill timeout"),
        pytest.param(
            {"Services": [{"Name": "s", "Provider": "nomad"}]}, IN_PLACE, id="J28 service"
        ),
        pytest.param(
            {"Constraints": [{"LTarget": "${attr.a}", "RTarget": "b"}]},
            IN_PLACE,
            id="J28 constraint",
        ),
        pytest.param({"LogConfig": {"MaxFiles": 3}}, IN_PLACE, id="J28 size of logs"),
        pytest.param({"Driver": "exec"}, REPLACED, id="J28 driver"),
        pytest.param({"Env": {"A": "b"}}, REPLACED, id="J28 env"),
        pytest.param({"Resources": {"CPU": 700}}, REPLACED, id="J28 resources"),
        pytest.param({"LogConfig": {"Disabled": True}}, REPLACED, id="J28 logs disabled"),
    ],
)
def test_which_changes_a_running_task_can_take(fields, annotation):
    diff = annotate(diff_jobs(job(), job(**fields)), {})
    assert diff.task_groups[0].tasks[0].annotations == (annotation,)
