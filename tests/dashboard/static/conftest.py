"""A browser, and a server of the static files under the product's own policy."""

import functools
import http.server
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from dashboard.security import content_security_policy

ROOT = Path(__file__).resolve().parents[3]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Static files, and pages that a test has put into `pages`."""

    def __init__(self, pages, *args):
        self.pages = pages
        super().__init__(*args, directory=str(ROOT))

    def do_GET(self):
        if self.path not in self.pages:
            super().do_GET()
            return
        body = self.pages[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self):
        policy = content_security_policy(host="", is_secure=False, nonce="test-nonce")
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def pages():
    """Path to HTML: what the server answers besides static files."""
    return {"/favicon.ico": ""}


@pytest.fixture(scope="session")
def address(pages):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, pages))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def chromium():
    # Not for the whole session: Playwright's loop would be in the way of asynchronous tests.
    assert CHROMIUM, "these tests need Chromium on the PATH"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium):
    """A fresh page that fails the test on any console error or refused request."""
    context = chromium.new_context()
    page = context.new_page()
    problems = []
    page.on("console", lambda told: told.type == "error" and problems.append(told.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert problems == []
