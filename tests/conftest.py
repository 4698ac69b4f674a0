"""What every test session prints: how much of the specification's scenario tables is tested."""

from tests.scenario_rows import report


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
