"""One person at the pages of jobs: launches, dispatches a file, scales, compares, goes back."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.live.side_process import until
from tests.live.sites import SECOND, Site, site
from tests.live.visitor import Visitor

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: Once a year: nothing is due while the test runs.
YEARLY = {"Specs": ["0 0 1 1 *"], "ProhibitOverlap": True}
RULES = {"Payload": "required", "MetaRequired": ["input"], "MetaOptional": ["lang"]}
REQUEST = b'{"width": 1920}\n'
READS = {"command": "/bin/sh", "args": ["-c", "cat local/request.json"]}
UPDATE = {
    "MaxParallel": 1,
    "HealthCheck": "task_states",
    "MinHealthyTime": SECOND // 2,
    "HealthyDeadline": 20 * SECOND,
    "ProgressDeadline": 60 * SECOND,
}
BOUNDS = {"Type": "horizontal", "Min": 1, "Max": 3, "Enabled": False}


def register(cluster: Site, name: str, *, config: dict, **fields: object) -> None:
    task = {
        "Name": "task",
        "Driver": "raw_exec",
        "Config": config,
        "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
        "Resources": {"CPU": 100, "MemoryMB": 10},
        **fields.pop("task", {}),
    }
    group = {"Name": "group", "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task]}
    group |= fields.pop("group", {})
    job = {"ID": name, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group], **fields}
    cluster.put("/v1/jobs", {"Job": job})


def until_rolled_out(cluster: Site) -> None:
    """A job is not scaled while its rollout is under way."""

    def is_over() -> bool:
        found = cluster.get("/v1/job/web/deployments")
        return [each["Status"] for each in found] == ["successful"]

    until(is_over, 60, "the first version is rolled out")


def launch_now(visitor: Visitor, page: Page) -> None:
    """A tab beside, which must show it without being loaded again."""
    visitor.open("/jobs/default/clock/")
    beside = visitor.context.new_page()
    beside.goto("/jobs/default/clock/")
    expect(beside.locator("[data-live-badge]")).to_contain_text("live")
    beside.evaluate("window.untouched = true")
    page.locator("#job-actions").get_by_role("button", name="Launch now").click()
    page.get_by_role("dialog").get_by_role("button", name="Launch now").click()
    expect(page.get_by_text("clock was launched, as clock/periodic-")).to_be_visible()
    row = beside.locator("#job-launches tbody tr", has_text="clock/periodic-")
    expect(row).to_contain_text("by hand")
    expect(row).to_contain_text("1 of 1 finished")
    assert beside.evaluate("window.untouched") is True
    row.get_by_role("link").click()
    parent = beside.locator("#job-standing").get_by_role("link", name="clock", exact=True)
    expect(parent).to_be_visible()
    beside.close()


def dispatch_a_file(visitor: Visitor, page: Page, cluster: Site) -> None:
    visitor.open("/jobs/default/calls/")
    visitor.expect_live()
    page.get_by_label("or a file").set_input_files(
        {"name": "request.json", "mimeType": "application/json", "buffer": REQUEST}
    )
    page.get_by_label("lang").fill("de")
    with visitor.forgiving(" 400", "status of 400"):
        page.get_by_role("button", name="Dispatch", exact=True).click()
        error = page.get_by_text("Give a value; the job file asks for it.")
        expect(error).to_be_visible()
    expect(page.get_by_label("lang")).to_have_value("de")
    page.get_by_label("input").fill("8812")
    page.get_by_label("or a file").set_input_files(
        {"name": "request.json", "mimeType": "application/json", "buffer": REQUEST}
    )
    page.get_by_role("button", name="Dispatch", exact=True).click()
    expect(page.get_by_text("calls was dispatched, as calls/dispatch-")).to_be_visible()
    children = [job["ID"] for job in cluster.get("/v1/jobs") if job["ParentID"] == "calls"]
    assert len(children) == 1
    until(
        lambda: [each["ClientStatus"] for each in cluster.allocs(children[0])] == ["complete"],
        40,
        "the child has run",
    )
    visitor.open("/jobs/default/calls/")
    row = page.locator("#job-dispatched tbody tr")
    expect(row).to_contain_text(f"{len(REQUEST)} bytes")
    expect(row).to_contain_text("input 8812, lang de")


def scale(visitor: Visitor, page: Page) -> None:
    visitor.open("/jobs/default/web/")
    visitor.expect_live()
    expect(page.get_by_text("1 to 3, set by the job file")).to_be_visible()
    field = page.get_by_role("textbox", name="group 1 wanted now")
    field.fill("9")
    page.get_by_label("Why").fill("Friday")
    with visitor.forgiving(" 400", "status of 400"):
        page.get_by_role("button", name="Scale group").click()
        expect(page.get_by_text("greater than scaling policy maximum: 9 > 3")).to_be_visible()
    expect(field).to_have_value("9")
    expect(page.get_by_label("Why")).to_have_value("Friday")
    field.fill("2")
    # By the key, as people do in a field.
    field.press("Enter")
    expect(page.get_by_text("Group group of web is to have 2.")).to_be_visible()
    visitor.open("/jobs/default/web/")
    expect(page.locator("#job-scale tbody tr")).to_contain_text("1 → 2")
    expect(page.locator("#job-scale .plot")).to_be_visible()


def compare_and_go_back(visitor: Visitor, page: Page) -> None:
    visitor.open("/jobs/default/web/?tab=versions")
    visitor.expect_live()
    page.get_by_label("Compare from v0").check()
    page.get_by_label("Compare to v1").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="v0 → v1")).to_be_visible()
    expect(page.locator(".diff .added")).to_contain_text("Count = 2")
    page.get_by_role("button", name="Tag v1").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tag").fill("two")
    dialog.get_by_role("button", name="Tag").click()
    expect(page.locator("#job-versions").get_by_text("two", exact=True)).to_be_visible()
    page.get_by_role("button", name="Go back to v0").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("group goes from 2 to 1.")
    dialog.get_by_role("button", name="Go back").click()
    expect(page.get_by_text("web goes back to what version 0 asked for.")).to_be_visible()


def test_a_person_launches_dispatches_scales_and_goes_back(browser: Browser) -> None:
    with site(1) as cluster:
        register(cluster, "clock", config={"command": "/bin/true"}, Periodic=YEARLY)
        read = {"DispatchPayload": {"File": "request.json"}}
        register(cluster, "calls", config=READS, task=read, ParameterizedJob=RULES)
        for_ever = {"command": "/bin/sh", "args": ["-c", "exec sleep 3600"]}
        service = {"Count": 1, "Scaling": BOUNDS, "Update": UPDATE}
        register(cluster, "web", config=for_ever, group=service, Type="service")
        until_rolled_out(cluster)
        visitor = Visitor(browser, cluster.stack.address)
        visitor.open(cluster.stack.login_link)
        launch_now(visitor, visitor.page)
        visitor.open("/jobs/default/clock/")
        visitor.pictures("job-periodic")
        dispatch_a_file(visitor, visitor.page, cluster)
        visitor.pictures("job-dispatch")
        scale(visitor, visitor.page)
        visitor.pictures("job-scale")
        compare_and_go_back(visitor, visitor.page)
        visitor.open("/jobs/default/web/?tab=versions")
        visitor.pictures("job-versions")
        visitor.open("/jobs/")
        expect(visitor.page.get_by_text("parameterized, 1 dispatched")).to_be_visible()
        cluster.until_running("web", 1)
        assert cluster.get("/v1/job/web")["Version"] == 2
        assert visitor.problems == []
        visitor.close()
