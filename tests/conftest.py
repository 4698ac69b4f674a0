"""What every session shares: a migrated file to copy, a watch on skips, a count of rows tested."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests.allowed_skips import SkipWatch
from tests.mount_sweep import MountSweep
from tests.patience import wait_longer
from tests.scenario_rows import report
from tests.store_fixtures import sqlite_template
from tests.together import TogetherScheduling

__all__ = ["sqlite_template"]

# How fast examples come says how busy the machine is, and whether it measures; nothing of ours.
settings.register_profile("any-pace", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("any-pace")


def pytest_configure(config):
    wait_longer()
    config.pluginmanager.register(SkipWatch(config), "allowed-skips")
    config.pluginmanager.register(MountSweep(config), "mount-sweep")


def pytest_collection_finish():
    """Thousands of tests and all they import stay: no collection looks at them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Several processes never start the one stack that live tests share."""
    return TogetherScheduling(config, log)


def pytest_terminal_summary(terminalreporter):
    """Say it after runs of everything; single files stay quiet."""
    if terminalreporter.config.invocation_params.args[:1] and any(
        "::" in str(given) or str(given).endswith(".py")
        for given in terminalreporter.config.invocation_params.args
    ):
        return
    terminalreporter.section("scenario tables")
    for line in report():
        terminalreporter.line(line)
