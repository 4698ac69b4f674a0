"""Jobs that pass every rule of registration."""

from msgspec.structs import replace

from cluster.jobspec.parse import parse_job


def plain_job(**fields):
    """A batch job of one mocked task, with `fields` in the place of its own."""
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Tasks": [task]}
    return replace(parse_job({"ID": "web", "Type": "batch", "TaskGroups": [group]}), **fields)
