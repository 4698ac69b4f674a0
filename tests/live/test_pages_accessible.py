"""Every page, looked over by axe with all of its rules: light and dark, wide and narrow.

Pages are found by their addresses, so that a new one is looked over without being named here.
"""

import signal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.contrib.admin import site
from django.urls import reverse
from playwright.sync_api import expect

from cluster.policies.built_in import BUILT_IN
from dashboard.graphs.explanation import SHOWN_AT_ONCE
from tests.live.fleet_process import FleetProcess
from tests.live.pages import SubmitPage
from tests.live.visitor import ARTEFACTS, NARROW, WIDE
from tests.live.world import MOCK, job, started_world, until
from tests.page_routes import page_routes

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SCHEMES = ("light", "dark")
SIZES = (WIDE, NARROW)
#: Where the parameter of one route is another thing than that of the others.
QUERIES = dict.fromkeys(("job-checks", "job-usage"), "?namespace=default&id=seen")
OF_ROUTES = {
    "quota": {"name": "seen"},
    "access-policy": {"name": BUILT_IN[0].name},
    # Nodes that only pretend have no files, and nothing to run a command in.
    "allocation-terminal": {"alloc_id": "{real_id}"},
    "allocation-files": {"alloc_id": "{real_id}"},
}
#: Of the admin besides its lists, which come from its registry.
ADMIN = (
    "/admin/", "/admin/cluster/noderow/{node_id}/change/",
    "/admin/cluster/noderow/drain/?ids={node_id}", "/admin/cluster/noderow/purge/?ids={node_id}",
    "/admin/cluster/jobrow/stop/?of=", "/admin/cluster/schedulersettingsrow/settings/",
    "/admin/cluster/webhookrow/edit/", "/admin/auth/user/add/",
)  # fmt: skip
#: Other faces of pages, and what is to be seen there.
FACES = (
    ("/chains/{eval_id}/?view=timeline", "#chain-timeline table"),
    ("/chains/{eval_id}/?layout=tidy", '[data-graph^="chain-tidy-"]'),
    ("/jobs/default/rolling/", "#job-rollout table"),
    ("/topology/?job=seen&node={node_id}", "#topology-selected dl"),
    ("/topology/?view=table", "#topology-map table"),
    ("/jobs/default/seen/?tab=versions", "#job-versions table"),
    ("/stories/{held_up_id}/", "#story-waits table"),
    ("/stories/{story_id}/?at=1", "#story-past .notice"),
    ("/stories/{story_id}/?view=list", "#tree .lane"),
    ("/what-if/{composed_id}/?beside={rehearsal_id}", "#beside table"),
    ("/evaluations/{waiting_id}/", "#decision .verdicts details:not([open])"),
)
#: Pages by the beginning of their addresses; those of no other area are the last one's.
AREAS = {
    "admin": ("/admin/",),
    "access": ("/access/", "/account/", "/audit/", "/inside/"),
    "work": ("/jobs/", "/allocations/", "/evaluations/", "/deployments/", "/explain/"),
    "stories": ("/stories/", "/chains/", "/what-if/", "/drains/"),
    "others": (),
}
#: Some of those that ask before something is done, by area: they are found, not named.
DIALOGS = {"stories": {"cancel-drain"}}
#: So many that the reason which keeps them out is closed until somebody opens it.
NODES = SHOWN_AT_ONCE + 4
TOO_LARGE = {"Resources": {"CPU": 90_000, "MemoryMB": 64}}
#: Several changes at once, of kinds that the page *What if* composes.
COMPOSED = (
    {"Lose": {"Filter": 'Name == "first"'}},
    {"Scale": {"JobID": "seen", "Group": "group", "Count": 4}},
)
#: Sheets are not loaded once more: axe would put them into the page, which our policy refuses.
_RUN = """async () => {
  const fading = document.getAnimations().filter(item => item instanceof CSSTransition);
  await Promise.allSettled(fading.map(item => item.finished));
  const { violations } = await axe.run(document, { resultTypes: ["violations"], preload: false });
  return violations.map(({ id, impact, nodes }) =>
    [id, impact, nodes.slice(0, 3).map(node => `${node.target} ${node.failureSummary}`)]);
}"""


@pytest.fixture(scope="module")
def world(as_installed):
    """Of its own, so that another process may look at pages while the stories are played."""
    with started_world(ARTEFACTS / "logs-of-pages") as world:
        yield world


@pytest.fixture(scope="module")
def signed_in(world, visitor):
    visitor.sign_in(world)
    return visitor


@pytest.fixture(scope="module")
def ids(world):
    """One of everything that has a page: running, rolling and waiting work, a drained node."""
    fleet = FleetProcess(world.stack, nodes=NODES, cpu=4000, memory=4096)
    fleet.start()
    try:
        drained = until(lambda: sims(world)[NODES - 1 :], "simulated nodes")[0]
        world.register({**job("seen", count=2, task=MOCK), "Meta": {"kind": "shown"}})
        world.register({**job("rolling", count=2, task=MOCK), "Update": {"MaxParallel": 1}})
        first = {"LTarget": "${node.unique.name}", "Operand": "=", "RTarget": "first"}
        world.register({**job("real"), "Constraints": [first]})
        world.register(job("waiting", task={**MOCK, **TOO_LARGE}))
        alloc = world.running("seen", 2)[0]
        world.running("rolling", 2)
        rollout = next(each for each in world.get("deployments") if each["JobID"] == "rolling")
        rolled = world.evaluation("rolling", "job-register", "complete")
        waiting = world.evaluation("waiting", "queued-allocs", "blocked")
        drain = {"DrainSpec": {"Deadline": 60_000_000_000}, "MarkEligible": True}
        assert world.api.put(f"/v1/node/{drained['ID']}/drain", json=drain).is_success
        assert world.api.put("/v1/quota", json={"Name": "seen", "Limits": []}).is_success
        asked = world.api.put("/v1/rehearsals", json={"Stop": {"JobID": "seen"}})
        assert asked.is_success, asked.text
        rehearsal = asked.json()["ID"]
        until(lambda: world.get(f"rehearsal/{rehearsal}")["Status"] == "complete", "a rehearsal")
        composed = world.api.put("/v1/rehearsals", json={"Changes": COMPOSED})
        assert composed.is_success, composed.text
        several = composed.json()["ID"]
        until(lambda: world.get(f"rehearsal/{several}")["Status"] == "complete", "another one")
        nodes = {"NodeIDs": [sims(world)[0]["ID"]], "AtOnce": 1}
        staged = world.api.put("/v1/drains", json=nodes)
        assert staged.is_success, staged.text
        variable = {"Items": {"password": "secret", "user": "web"}}
        assert world.api.put("/v1/var/nomad/jobs/seen", json=variable).is_success
        asked = {"Volume": {"Name": "seen", "PluginID": "mkdir"}}
        made = world.api.put("/v1/volume/host/create", json=asked)
        assert made.is_success, made.text
        volume = made.json()["Volume"]["ID"]
        yield {
            "volume_id": volume,
            "real_id": world.running("real", 1)[0]["ID"],
            "rehearsal_id": rehearsal,
            "composed_id": several,
            "drain_id": staged.json()["ID"],
            "eval_id": alloc["EvalID"],
            "alloc_id": alloc["ID"],
            "deployment_id": rollout["ID"],
            "node_id": drained["ID"],
            "namespace": "default",
            # A namespace and a node pool of every cluster.
            "name": "default",
            "job_id": "seen",
            "path": "nomad/jobs/seen",
            "waiting_id": waiting["ID"],
            "story_id": world.get(f"evaluation/{rolled['ID']}")["Story"],
            "held_up_id": world.get(f"evaluation/{waiting['ID']}")["Story"],
        }
    finally:
        fleet.end(signal.SIGTERM)
        fleet.log.close()


def sims(world):
    return [
        node
        for node in world.get("nodes")
        if node["Name"].startswith("sim") and node["Status"] == "ready"
    ]


def pages(ids: dict[str, str]) -> list[str]:
    """Every page by its address; one whose parameters nobody made has no address, and fails."""
    found = []
    for pattern in page_routes():
        wanted = set(pattern.pattern.converters)
        known = OF_ROUTES.get(pattern.name, {})
        assert wanted <= {*ids, *known}, f"{pattern.name}: say in `ids` what to look at"
        values = {name: known.get(name, f"{{{name}}}").format(**ids) for name in wanted}
        found.append(reverse(pattern.name, kwargs=values) + QUERIES.get(pattern.name, ""))
    lists = (
        f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for model in site._registry
    )
    return [*found, *map(reverse, lists), *(path.format(**ids) for path in ADMIN)]


def findings(page) -> list[str]:
    """What axe finds wrong in the page as it stands, in every theme and size."""
    found = []
    page.evaluate(AXE_SCRIPT)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for size in SIZES:
            page.set_viewport_size(size)
            for rule, impact, places in page.evaluate(_RUN):
                found.append(f"{page.url} {scheme} {size['width']}: {impact} {rule} {places}")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    return found


def in_area(ids: dict[str, str], area: str) -> list[str]:
    """The pages of an area."""
    if AREAS[area]:
        return [path for path in pages(ids) if path.startswith(AREAS[area])]
    named = tuple(beginning for some in AREAS.values() for beginning in some)
    return [path for path in pages(ids) if not path.startswith(named)]


@pytest.mark.parametrize("area", AREAS)
def test_no_page_and_no_dialog_of_it_keeps_anybody_out(signed_in, ids, page, area):
    found, dialogs = [], set()
    paths = in_area(ids, area)
    assert len(paths) >= 5, "an area without pages looks at nothing"
    for path in paths:
        assert signed_in.open(path).status == 200, path
        if page.locator("[data-live-badge]").count() and page.locator("body[data-live]").count():
            signed_in.expect_live()
        found += findings(page)
        for dialog in page.locator("main dialog[id]").all():
            name = dialog.get_attribute("id")
            if name not in dialogs:
                dialogs.add(name)
                dialog.evaluate("each => each.showModal()")
                found += findings(page)
                dialog.evaluate("each => each.close()")
    assert dialogs >= DIALOGS.get(area, set())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("path", "shown"), FACES)
def test_no_other_face_of_a_page_keeps_anybody_out(signed_in, ids, page, path, shown):
    signed_in.open(path.format(**ids))
    signed_in.expect_live()
    expect(page.locator(shown).first).to_be_visible()
    found = findings(page)
    assert not found, "\n".join(found)


def test_no_dialog_or_menu_keeps_anybody_out(signed_in, ids, page):
    found = []
    for key in ("?", "ControlOrMeta+k"):
        signed_in.open("/jobs/")
        signed_in.expect_live()
        page.keyboard.press(key)
        expect(page.locator("dialog[open]")).to_be_visible()
        found += findings(page)
    signed_in.open(f"/allocations/{ids['alloc_id']}/")
    page.locator(".page-head").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found += findings(page)
    assert not found, "\n".join(found)


def test_a_reviewed_job_and_its_problems_keep_nobody_out(signed_in, ids, page):
    submit = SubmitPage(page)
    submit.open()
    submit.use_example("too-big")
    submit.plan()
    expect(submit.review.first).to_be_visible()
    found = findings(page)
    submit.paste("{")
    expect(submit.problems.first).to_be_visible()
    found += findings(page)
    assert not found, "\n".join(found)


def test_the_door_keeps_nobody_out(world, browser):
    context = browser.new_context(base_url=world.stack.address)
    page = context.new_page()
    page.goto("/login/")
    found = findings(page)
    context.close()
    assert not found, "\n".join(found)
