"""One Bivouac and one browser for the whole story."""

import contextlib
import shutil

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from tests import locked_alone
from tests.file_server import served  # noqa: F401
from tests.live.visitor import ARTEFACTS, Visitor
from tests.live.world import started_world

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def as_installed():
    """Every process that is started finds what the product's lock installs, and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in locked_alone.environment().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def world(as_installed):
    """With one real agent, called `first`."""
    with started_world(ARTEFACTS / "logs") as world:
        yield world


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium."""
    # Not for the whole session: Playwright's loop would be in the way of asynchronous tests.
    assert CHROMIUM is not None, "the live test needs Chromium; `make test` installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def visitor(world, browser):
    """A person at a browser."""
    visitor = Visitor(browser, world.stack.address)
    yield visitor
    visitor.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    visitor = item.funcargs.get("visitor")
    if visitor is not None and call.when == "call" and report.failed:
        # A page that hangs must not take the rest of the run with it.
        with contextlib.suppress(PlaywrightError):
            visitor.picture(f"failed-{item.name}")
    return report


@pytest.fixture
def page(visitor):
    """The visitor's page; fails the step on any console error or failed request."""
    yield visitor.page
    problems, visitor.problems[:] = [*visitor.problems], []
    assert problems == []
