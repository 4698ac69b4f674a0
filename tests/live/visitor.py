"""A person at a browser: one signed-in context in which every error counts."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, Response, expect

from tests.live.world import PATIENCE, World

ARTEFACTS = Path(__file__).resolve().parents[2] / "artefacts" / "live"
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}
PATIENCE_MS = PATIENCE * 15_000
#: What the browser itself gives up when a page is left.
LEFT = "net::ERR_ABORTED"

expect.set_options(timeout=PATIENCE_MS)


class Visitor:
    """One page in a context of its own; what goes wrong in it is kept in `problems`."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.context = browser.new_context(base_url=address, viewport=WIDE)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.context.set_default_timeout(PATIENCE_MS)
        self.problems: list[str] = []
        self.context.on("console", lambda told: self._note(told.type == "error", told.text))
        self.context.on("weberror", lambda error: self._note(True, str(error.error)))
        self.context.on("requestfailed", self._failed)
        self.context.on("response", self._answered)
        self.page: Page = self.context.new_page()

    def _note(self, counts: bool, text: str) -> None:
        if counts:
            self.problems.append(f"{self.page.url}: {text}")

    def _failed(self, request) -> None:
        self._note(request.failure != LEFT, f"{request.url} {request.failure}")

    def _answered(self, response: Response) -> None:
        self._note(response.status >= 400, f"{response.url} {response.status}")

    def sign_in(self, world: World) -> None:
        """By the link that `up` printed; it works once, so its session is kept for the others."""
        if world.session:
            self.context.add_cookies(world.session)
        else:
            self.open(world.stack.login_link)
            world.session = self.context.cookies()

    def open(self, path: str) -> Response:
        answer = self.page.goto(path)
        assert answer is not None, f"{path} is a page"
        return answer

    def stay(self) -> None:
        """From here on the page changes only as it was loaded; see `expect_stayed`."""
        self.page.evaluate("window.untouched = true")

    def expect_stayed(self) -> None:
        assert self.page.evaluate("window.untouched") is True, "the page was loaded again"

    @contextlib.contextmanager
    def forgiving(self, *patterns: str) -> Iterator[None]:
        """In this block, problems of these kinds belong to the story."""
        before = len(self.problems)
        yield
        kinds = re.compile("|".join(patterns))
        self.problems[before:] = [
            text for text in self.problems[before:] if not kinds.search(text)
        ]

    def live(self) -> Locator:
        """The badge of the live line."""
        return self.page.locator("[data-live-badge]")

    def expect_live(self) -> None:
        expect(self.live()).to_contain_text("live")

    def picture(self, name: str) -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        # Hiding the caret would need an inline style, which our policy refuses.
        self.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True, caret="initial")

    def pictures(self, name: str) -> None:
        """Light and dark, wide and narrow, of the page as it is."""
        for scheme in ("light", "dark"):
            # Without motion, or a button would be caught half way between two colours.
            self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for size in (WIDE, NARROW):
                self.page.set_viewport_size(size)
                self.picture(f"{name}-{scheme}-{size['width']}")
        self.page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        self.page.set_viewport_size(WIDE)

    def close(self) -> None:
        self.context.close()
