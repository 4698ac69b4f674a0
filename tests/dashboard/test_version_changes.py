"""The line of what a version changed, against the difference it is made from."""

from msgspec.structs import replace

from cluster.jobspec.diff import diff_jobs
from dashboard.version_changes import changes_line
from dashboard.versions import changes
from tests.builders import make_job


def test_a_line_names_what_it_was_and_what_it_became():
    before = make_job(priority=50)
    assert changes_line(diff_jobs(before, replace(before, priority=70))) == "Priority 50 → 70"


def test_what_came_whole_is_named_and_the_rest_counted():
    before = make_job(priority=50)
    (group,) = before.task_groups
    (task,) = group.tasks
    busy = replace(task, env={"a": "1", "b": "2" * 40, "c": "3"}, user="kim")
    after = replace(before, priority=70, task_groups=(replace(group, tasks=(busy,)),))
    line = changes_line(diff_jobs(before, after))
    count = len(changes(diff_jobs(before, after)))
    assert count > 3
    assert line.startswith("Priority 50 → 70, ")
    assert line.endswith(f" and {count - 3} more")
    assert "2" * 40 not in line


def test_the_same_version_twice_changed_nothing_that_is_said():
    assert changes_line(diff_jobs(make_job(), make_job())) == "nothing its author says"
