"""The pages of the story, in the words of somebody who uses them."""

import re

from playwright.sync_api import Locator, Page, expect

EVALUATION = re.compile(r"/evaluations/([0-9a-f-]{36})/$")


class SubmitPage:
    """The editor, the problems, the plan."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems = page.locator("#problem-list li")
        self.review = page.locator("[data-review]")

    def open(self) -> None:
        self.page.goto("/jobs/new/")
        expect(self.page.locator(".cm-content")).to_be_visible()

    def use_example(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def paste(self, text: str) -> None:
        """Replace what is in the editor."""
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.press("ControlOrMeta+v")

    def plan(self) -> None:
        self.page.get_by_role("button", name="Plan", exact=True).click()

    def run(self) -> str:
        """Run what was reviewed; the evaluation's id."""
        self.page.get_by_role("button", name="Run what you reviewed").click()
        expect(self.page).to_have_url(EVALUATION)
        match = EVALUATION.search(self.page.url)
        assert match is not None, "the address was just seen"
        return match[1]


class EvaluationPage:
    """One evaluation: where it stands, the way it took, what it decided."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.state = page.locator("[data-life-state] .badge")
        self.sentence = page.locator("#evaluation-head .sentence")
        self.decision = page.locator("#decision")

    def open(self, eval_id: str) -> None:
        self.page.goto(f"/evaluations/{eval_id}/")

    def expect_state(self, state: str) -> None:
        expect(self.state).to_have_attribute("data-state", state)

    def steps(self) -> Locator:
        return self.page.locator("#steps tbody tr[data-key]")

    def story(self) -> list[str]:
        """Each step with its moment, as told; white space is the layout's, not the text's."""
        rows = (row.get_by_role("cell").all_inner_texts() for row in self.steps().all())
        return ["".join(f"{cells[0]} {cells[2]}".split()) for cells in rows]

    def expect_step(self, word: str) -> None:
        expect(self.steps().filter(has_text=word).first).to_be_visible()

    def expect_in_chain(self, state: str) -> None:
        node = self.page.locator(f'[data-graph^="chain-"] .graph-node[data-state="{state}"]')
        expect(node.first).to_be_visible()

    def expect_on_path(self, state: str) -> None:
        """The state is drawn as one that was passed, or is the present one."""
        node = self.page.locator(f'[data-graph^="life-"] .graph-node[data-key="{state}"]')
        expect(node).to_have_attribute("data-state", state)

    def copy_mermaid(self) -> str:
        self.page.get_by_role("button", name="Copy as Mermaid").first.click()
        expect(self.page.locator("[data-toasts]")).to_contain_text("Copied as Mermaid")
        return self.page.evaluate("navigator.clipboard.readText()")


class AllocationPage:
    """One allocation: its tasks, their output, its buttons."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.state = page.locator("#alloc-standing h1 .badge").first
        self.standing = page.locator("#alloc-standing")
        self.tasks = page.locator("#alloc-tasks")
        self.events = page.locator("#alloc-events")
        self.output = page.locator("[data-logs-text]")

    def open(self, alloc_id: str) -> None:
        self.page.goto(f"/allocations/{alloc_id}/")

    def expect_event(self, word: str) -> None:
        expect(self.events.get_by_role("cell", name=word, exact=True).first).to_be_visible()

    def confirm(self, opener: str, verb: str) -> None:
        """Press a button and say yes to its question."""
        self.page.locator(".page-head").get_by_role("button", name=opener, exact=True).click()
        dialog = self.page.get_by_role("dialog")
        dialog.get_by_role("button", name=verb, exact=True).click()


class NodeAdminPage:
    """Nodes in the Django admin: choose some, choose what to do with them."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def choose(self, name: str, action: str) -> None:
        self.page.goto("/admin/cluster/noderow/")
        row = self.page.get_by_role("row").filter(has=self.page.get_by_text(name, exact=True))
        row.get_by_role("checkbox").check()
        self.page.locator("select[name=action]").select_option(label=action)
        self.page.locator("button[name=index]").click()

    def drain(self, name: str, *, reason: str, deadline: str) -> None:
        """Choose the node, answer what is asked, and come to its board."""
        self.choose(name, "Drain selected nodes…")
        send = self.page.get_by_role("button", name="Drain 1 node")
        send.click()
        expect(self.page.locator("#id_reason-error")).to_contain_text("Give a reason")
        self.page.get_by_label("Reason").fill(reason)
        self.page.get_by_label("Deadline", exact=False).first.select_option(label=deadline)
        send.click()


class DrainPage:
    """One node's drain: how far it is, what still stands there."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.status = page.locator("#drain-head h1 .badge")
        self.head = page.locator("#drain-head")
        self.board = page.locator("#board")

    def open(self, node_id: str) -> None:
        self.page.goto(f"/drains/{node_id}/")

    def column(self, title: str) -> Locator:
        heading = self.page.get_by_role("heading", name=re.compile(title))
        return self.board.locator(".board > li").filter(has=heading)

    def cancel(self) -> None:
        self.page.get_by_role("button", name="Cancel drain").click()
        self.page.get_by_role("dialog").get_by_role("button", name="Cancel drain").click()
