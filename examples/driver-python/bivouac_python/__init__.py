"""The driver `python`: a task is a few lines of Python in its job file.

In: `config { code = "print(sum(range(10)))" }`. Out: a process of the host. A driver is whatever
has the parts of `cluster.agent.drivers.driver.Driver`, which says what each must do.
"""

import shutil

import msgspec

from cluster.agent.drivers.driver import Abilities, Handle, Launch, StartError, healthy, unhealthy
from cluster.agent.drivers.kept_process import KeptProcesses, log_order
from cluster.agent.drivers.packages import DriverMeans
from cluster.agent.task_user import find_user, hand_over
from scheduler.structs.node import DriverInfo


class PythonOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in the task's `config`; `${...}` in it is filled in already."""

    code: str
    args: tuple[str, ...] = ()
    pids_limit: int = 100


class PythonDriver(KeptProcesses):
    """The Python tasks of one node.

    KeptProcesses starts, watches, stops, signals, measures and finds them again after a restart of
    the agent, writes their logs and holds them to their limits by a control group. What is left is
    to say whether the node can run any, and what is to be run.
    """

    #: As the entry point is called.
    name = "python"
    #: The task's directories have the host's paths, and commands can be run beside a task.
    abilities = Abilities(runs_inside=True)
    #: Without control groups tasks start all the same, and nothing limits them.
    runs_unlimited = True

    def __init__(self, means: DriverMeans) -> None:
        """Called once, when the agent starts."""
        super().__init__(means.find_groups)

    def describe(self, now: int) -> DriverInfo:
        """Asked every 30 seconds: jobs are placed only where it is healthy."""
        if self._program is None:
            return unhealthy("python3 is not installed", now)
        return healthy(self.name, now)

    def prepare(self, launch: Launch) -> Handle:
        """Before each start: refuse what cannot be run, and name the run.

        The handle is kept before anything starts, so that a task whose agent died meanwhile is
        found again. Its fact `directory` is where KeptProcesses keeps its notes.
        """
        _options(launch)
        if launch.user:
            find_user(launch.user)
        if launch.directories is None:
            raise StartError("python needs a node with a disk")
        run = launch.task_id.rpartition("/")[2]
        return Handle(
            driver=self.name,
            task_id=launch.task_id,
            facts={"directory": str(launch.directories.runs / run)},
        )

    def specification(self, launch: Launch) -> dict[str, object]:
        """What the process beside the task is to run; it is written down for recovery."""
        options, directories = _options(launch), launch.directories
        if self._program is None or directories is None:
            raise StartError("python3 is not installed", recoverable=True)
        user = find_user(launch.user) if launch.user else None
        if user is not None:
            hand_over(directories, user)
        return {
            # -I: neither the host's variables nor its user's packages say what is run.
            "argv": [self._program, "-I", "-u", "-c", options.code, *options.args],
            "directory": str(directories.root),
            "env": launch.env,
            "user": user and {"uid": user.uid, "gid": user.gid, "groups": user.groups},
            # What its user must be able to reach, so that a closed way is named.
            "needs": [str(directories.local), self._program],
            "pids_limit": options.pids_limit,
            "logs": log_order(launch),
        }

    @property
    def _program(self) -> str | None:
        return shutil.which("python3", path="/usr/bin:/usr/local/bin")


def _options(launch: Launch) -> PythonOptions:
    try:
        return msgspec.convert(launch.config, PythonOptions, strict=False)
    except msgspec.ValidationError as problem:
        # Shown in the task's history as *Failed Validation*; no restart is tried.
        raise StartError(str(problem), invalid_config=True) from problem
