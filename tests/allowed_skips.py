"""Tests that may be skipped, and why; a run that skips any other fails.

What is skipped is not proven, so a skip needs a line here.
"""

import os
import platform
import shutil
import sys
from fnmatch import fnmatchcase

import pytest

from cluster.agent.networks.offered import why_no_namespaces
from tests.cluster.agent.devices.nvml_library import why_no_compiler
from tests.cluster.agent.networks.real_bridge import why_no_bridge
from tests.cluster.agent.real_groups import why_no_root, why_none
from tests.cluster.agent.real_mounts import why_no_mounts
from tests.live.container_engine import why_no_engine
from tests.nomad_program import PROGRAM

#: Pattern of test ids -> why it may be skipped. Empty where everything can run.
ALLOWED: dict[str, str] = (
    {}
    if sys.platform == "linux" and sys.version_info < (3, 13)
    else {"*[[]postgres*": "without an installed PostgreSQL: its wheel is for Linux, to 3.12"}
)
if platform.libc_ver()[0] != "glibc":
    ALLOWED["*::test_what_was_freed_between_*"] = "memory is given back by glibc only"
if os.geteuid() != 0:
    ALLOWED["*/test_raw_exec_user.py::*"] = "only root starts tasks as other users"
    ALLOWED["*::test_a_task_of_nobody_*"] = ALLOWED["*/test_raw_exec_user.py::*"]
#: Nothing else can set the clock of one process.
ALLOWED["*::test_a_fault_of_a_node_*clock*"] = "where there is no libfaketime"
if no_memory := why_no_mounts():
    for name in ("test_hard_times.py::*full*", "test_kept_process.py::*full*"):
        ALLOWED[f"*/{name}"] = no_memory
    ALLOWED["*::test_what_cannot_be_noted_*"] = no_memory
    ALLOWED["*::test_a_fault_of_a_node_*"] = no_memory
    ALLOWED["*/test_secret_mounts.py::*"] = no_memory
if no_groups := why_none():
    ALLOWED["*/test_raw_exec_limits.py::*"] = no_groups
if len(os.sched_getaffinity(0)) < 2:
    for name in ("test_cores_of_a_task_*", "test_no_task_runs_on_cores_*"):
        ALLOWED[f"*::{name}"] = "cores are set aside on machines with two"
if no_root := why_no_root():
    for name in ("test_exec.py", "test_exec_alloc.py", "test_exec_escapes.py"):
        ALLOWED[f"*/{name}::*"] = no_root
    ALLOWED["*::test_the_example_of_an_isolated_task_*"] = no_root
    ALLOWED["*/test_task_api.py::*[[]exec]"] = no_root
# Tasks of `exec` see no other.
if not shutil.which("python3", path="/usr/bin:/usr/local/bin"):
    for name in ("test_exec_alloc.py", "test_exec_escapes.py"):
        ALLOWED[f"*/{name}::*"] = "without a Python below /usr"
ALLOWED["*::test_keys_of_a_user_are_no_way_*"] = "where the kernel has no keys"
if no_namespaces := why_no_namespaces():
    ALLOWED["*/networks/test_keeper.py::*"] = no_namespaces
    ALLOWED["*/docker/test_group_network.py::*"] = no_namespaces
if no_bridge := why_no_bridge():
    for name in ("test_bridge.py", "test_own_networks.py"):
        ALLOWED[f"*/{name}::*"] = no_bridge
    ALLOWED["*/test_containers.py::*of_a_group*"] = no_bridge
if no_compiler := why_no_compiler():
    ALLOWED["*/devices/test_nvidia.py::*"] = no_compiler
    ALLOWED["*::test_graphics_cards_*"] = no_compiler
ALLOWED["*::test_without_a_driver_there_are_none"] = "only with a card"
if no_engine := why_no_engine():
    ALLOWED["*/test_containers.py::*"] = no_engine
if PROGRAM is None:
    ALLOWED["*/test_command_line.py::*"] = "where there is no command line of the reference"


def unlisted(skipped: dict[str, str]) -> dict[str, str]:
    """Of id -> reason those that no pattern allows."""
    return {
        test_id: reason
        for test_id, reason in skipped.items()
        if not any(fnmatchcase(test_id, pattern) for pattern in ALLOWED)
    }


class SkipWatch:
    """A plugin that notes skips; those of worker processes reach the process that judges."""

    def __init__(self, config):
        self._config = config
        self._skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def pytest_collectreport(self, report):
        self._note(report)

    def _note(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped[report.nodeid] = _reason_of(report.longrepr)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        # Reports of tests come by themselves, those of skipped modules do not.
        self._skipped.update(getattr(node, "workeroutput", {}).get("skipped", {}))

    # Before the summary is written.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if hasattr(self._config, "workerinput"):
            self._config.workeroutput["skipped"] = self._skipped
        elif unlisted(self._skipped) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        found = unlisted(self._skipped)
        if found:
            terminalreporter.section("skipped, and not in tests/allowed_skips.py")
        for test_id, reason in sorted(found.items()):
            terminalreporter.line(f"{test_id}: {reason}")


def _reason_of(longrepr):
    return longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
