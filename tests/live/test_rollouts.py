"""A job is rolled out on real agents: in steps, back when it fails, and behind a canary."""

from collections import Counter

import pytest
from playwright.sync_api import Browser, expect

from tests.live.side_process import until
from tests.live.sites import SECOND, Site, site
from tests.live.visitor import Visitor

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

UPDATE = {
    "MaxParallel": 1,
    "HealthCheck": "task_states",
    "MinHealthyTime": SECOND // 2,
    "HealthyDeadline": 20 * SECOND,
    "ProgressDeadline": 60 * SECOND,
}
#: One ending is the end of the allocation, which nothing replaces.
NO_SECOND_TRY = {
    "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60 * SECOND, "Delay": SECOND},
    "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
}


def deployment(cluster: Site, version: int) -> dict:
    """Of a version of the job; empty while there is none."""
    found = cluster.get("/v1/job/web/deployments?additions")
    return next((each for each in found if each["JobVersion"] == version), {})


def until_it(cluster: Site, status: str, version: int) -> dict:
    """The deployment of a version, once it has that status."""

    def there() -> bool:
        return deployment(cluster, version).get("Status") == status

    until(there, 40, f"the deployment of version {version} is {status}")
    return deployment(cluster, version)


def healthy(cluster: Site, version: int) -> int:
    return deployment(cluster, version)["TaskGroups"]["group"]["HealthyAllocs"]


def running_versions(cluster: Site) -> Counter[int]:
    return Counter(
        alloc["JobVersion"]
        for alloc in cluster.allocs("web")
        if (alloc["DesiredStatus"], alloc["ClientStatus"]) == ("run", "running")
    )


def roll_out(cluster: Site, version: int, **fields: object) -> None:
    cluster.run("web", Count=2, Meta={"version": str(version)}, Update=UPDATE | fields)


def hold_and_promote_on_its_story(browser: Browser, cluster: Site) -> None:
    """All that the page of a rollout offers stands on the page of its story too."""
    story = deployment(cluster, 3)["Story"]
    visitor = Visitor(browser, cluster.stack.address)
    visitor.open(cluster.stack.login_link)
    visitor.open(f"/stories/{story}/")
    visitor.expect_live()
    page, head = visitor.page, visitor.page.locator("#story-head")
    expect(head).to_contain_text("1 healthy canary waits to be promoted.")
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog", name="Pause the rollout of version 3?")
    expect(dialog).to_contain_text("Nothing more is replaced until somebody lets it go on")
    dialog.get_by_role("button", name="Pause rollout").click()
    expect(head).to_contain_text("Paused by")
    assert page.url.endswith(f"/stories/{story}/")
    visitor.expect_live()
    page.get_by_role("button", name="Go on").click()
    expect(head).to_contain_text("1 healthy canary waits to be promoted.")
    visitor.expect_live()
    visitor.stay()
    page.get_by_role("button", name="Promote 1 canary").click()
    dialog = page.get_by_role("dialog", name="Promote the canaries of version 3?")
    visitor.pictures("story-promote")
    visitor.expect_stayed()
    dialog.get_by_role("button", name="Promote").click()
    expect(page.get_by_text("The canaries of version 3 were promoted.")).to_be_visible()
    expect(page.locator("#phases")).to_contain_text("Promoted by")
    expect(page.locator("#phases")).to_contain_text("Paused by")
    expect(head).to_contain_text("Done: 2 of 2 run v3", timeout=40_000)
    # The buttons went with the rollout, without a reload.
    expect(page.locator("#story-actions button")).to_have_count(0)
    visitor.pictures("story-rollout")
    page.goto(f"{page.url}?at={deployment(cluster, 3)['CreateIndex']}")
    expect(page.locator("#story-heat")).to_contain_text("The cluster as it was")
    visitor.pictures("story-rollout-past")
    assert visitor.problems == []
    visitor.close()


def test_a_job_is_rolled_out_back_and_out_again_behind_a_canary(browser: Browser) -> None:
    with site(2) as cluster:
        roll_out(cluster, 0)
        until_it(cluster, "successful", 0)

        failing = {"command": "/bin/false"}
        cluster.run(
            "web", Count=2, Update=UPDATE | {"AutoRevert": True}, config=failing, **NO_SECOND_TRY
        )
        failed = until_it(cluster, "failed", 1)
        assert failed["StatusDescription"].endswith("rolling back to job version 0")
        until_it(cluster, "successful", 2)
        until(lambda: running_versions(cluster) == {2: 2}, 20, "as many run as before")
        assert cluster.get("/v1/job/web")["TaskGroups"][0]["Meta"] == {"version": "0"}

        roll_out(cluster, 3, Canary=1)
        until(lambda: running_versions(cluster) == {2: 2, 3: 1}, 20, "the canary runs")
        until(lambda: healthy(cluster, 3) == 1, 20, "it is healthy")
        waiting = deployment(cluster, 3)
        assert waiting["StatusDescription"] == (
            "Deployment is running but requires manual promotion"
        )
        hold_and_promote_on_its_story(browser, cluster)
        until_it(cluster, "successful", 3)
        until(lambda: running_versions(cluster) == {3: 2}, 20, "the new version took over")
