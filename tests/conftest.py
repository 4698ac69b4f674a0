"""What every session shares: a migrated file to copy, and a count of scenario rows at its end."""

from tests.scenario_rows import report
from tests.store_fixtures import sqlite_template

__all__ = ["sqlite_template"]


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
