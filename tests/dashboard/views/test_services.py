"""The list of services: where each is offered, what its checks found, and who is shown it."""

import pytest
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.service_noun import SERVICES
from scheduler.structs.service_registration import ServiceRegistration
from tests.builders import SOME_MOMENT
from tests.dashboard.views.conftest import Browser
from tests.dashboard.views.test_job_checks import connected, place
from tests.dashboard.views.test_usage import check
from tests.people import account_with

__all__ = ["place"]
CHECKS = "/services/checks/"
RULES = 'namespace "{}" {{ policy = "read" }}'


@pytest.fixture
def offer(store, node, place):
    """Running allocations that offer `web-http`, each at a port of its own."""

    def offer(count, **fields):
        ids = place(count)

        def work(change):
            for number, alloc_id in enumerate(ids):
                made = ServiceRegistration(
                    id=f"of-{alloc_id}", service_name="web-http", namespace="default",
                    node_id=node.id, job_id="web", alloc_id=alloc_id, tags=("v1", "<b>"),
                    address="10.0.0.1", port=20_000 + number,
                )  # fmt: skip
                change.put(SERVICES, replace(made, **fields))

        store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
        return ids

    return offer


def test_an_address_leads_to_its_allocation_job_and_node(browser, node, offer):
    (alloc_id,) = offer(1)
    page = browser.get("/services/")
    assert "Services are offered at 1 address." in page.text
    for told in (
        "10.0.0.1:20000", "&lt;b&gt;", f'<a href="/allocations/{alloc_id}/">web.web[0]</a>',
        f'<a href="/nodes/{node.id}/">{node.name}</a>', "/jobs/default/web/",
        f'data-used-by="checks of-{alloc_id}"', f'data-usage="{CHECKS}"',
    ):  # fmt: skip
        assert told in page.text, told


def test_an_address_of_ipv6_stands_in_brackets_and_none_without_a_port(browser, offer):
    offer(1, address="fd00::1")
    assert "[fd00::1]:20000" in browser.get("/services/").text
    offer(1, port=0)
    assert '<span class="id">10.0.0.1</span>' in browser.get("/services/").text


def test_what_checks_found_is_told_of_each_address_and_of_all(browser, node, offer):
    good, bad, quiet = offer(3)
    found = {
        good: {"a": check("success"), "b": check("success", Check="port")},
        bad: {"a": check("failure", StatusCode=404), "b": check("success", Check="port")},
        # Of another service of the same allocation.
        quiet: {"a": check("failure", Service="other")},
    }
    with connected(node, found) as agent:
        page = browser.get(CHECKS)
    assert sorted(agent.asked) == sorted([good, bad, quiet])
    assert dict(page.context["marks"]) == {
        f"of-{good}": "2 of 2 pass",
        f"of-{bad}": "1 of 2 fail",
        f"of-{quiet}": "none",
    }
    assert page.context["told"] == "3 of 4 pass"
    (line,) = page.context["lines"]
    assert (line.alloc_id, line.found.answer) == (bad, "answered 404")


def test_a_node_that_does_not_answer_makes_nothing_pass(browser, node, offer):
    (alloc_id,) = offer(1)
    page = browser.get(CHECKS)
    assert page.context["marks"] == [(f"of-{alloc_id}", "not known")]
    assert "No node of these answers." in page.text
    assert "1 allocation left out" in page.text


def test_only_the_addresses_of_the_page_are_asked_about(browser, node, offer):
    offer(2)
    (other,) = offer(1, service_name="db")
    with connected(node, {}) as agent:
        page = browser.get(CHECKS, service="db")
    assert agent.asked == [other]
    assert page.context["address"] == f"{CHECKS}?service=db"
    assert page.context["why_none"].startswith("Nothing of these is checked")


def test_an_empty_list_says_how_one_is_offered(browser, store):
    page = browser.get("/services/")
    assert "A job offers one with a “service” block of provider “nomad”" in page.text
    assert 'id="service-checks"' not in page.text
    assert browser.get(CHECKS).context["marks"] == []


def test_services_of_other_namespaces_and_names_of_nodes_are_not_shown(store, node, offer):
    offer(1)
    job_reader = Browser(account_with(store, RULES.format("default"), "reader"))
    page = job_reader.get("/services/").text
    assert "10.0.0.1:20000" in page
    assert f'<a href="/nodes/{node.id}/">' not in page
    stranger = Browser(account_with(store, RULES.format("team"), "stranger"))
    assert "10.0.0.1:20000" not in stranger.get("/services/").text
    assert stranger.get(CHECKS).context["marks"] == []
