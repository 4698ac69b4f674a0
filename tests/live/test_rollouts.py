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
    found = cluster.get("/v1/job/web/deployments")
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


def promote_in_the_browser(browser: Browser, cluster: Site) -> None:
    """By the button on the job's page."""
    visitor = Visitor(browser, cluster.stack.address)
    visitor.open(cluster.stack.login_link)
    visitor.open("/jobs/default/web/")
    visitor.expect_live()
    visitor.page.get_by_role("button", name="Promote 1 canary").click()
    dialog = visitor.page.get_by_role("dialog", name="Promote the canaries of version 3?")
    visitor.pictures("rollout-promote")
    dialog.get_by_role("button", name="Promote").click()
    expect(visitor.page.get_by_text("The canaries of version 3 were promoted.")).to_be_visible()
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
        promote_in_the_browser(browser, cluster)
        until_it(cluster, "successful", 3)
        until(lambda: running_versions(cluster) == {3: 2}, 20, "the new version took over")
