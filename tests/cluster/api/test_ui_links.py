"""Links of the reference's pages and ours."""

import pytest

from cluster.api.ui_links import page_of

ID = "cccccccc-0000-0000-0000-000000000001"


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("", "/"),
        ("jobs", "/jobs/"),
        ("jobs/run", "/jobs/new/"),
        ("jobs/web@team", "/jobs/team/web/"),
        ("jobs/web", "/jobs/default/web/"),
        ("jobs/etl/periodic-1@default/allocations", "/jobs/default/etl/periodic-1/"),
        (f"allocations/{ID}/main", f"/allocations/{ID}/"),
        (f"clients/{ID}", f"/nodes/{ID}/"),
        ("clients", "/nodes/"),
        ("topology", "/topology/"),
        ("storage/plugins", "/"),
        ("/evil.example", "/"),
        ("jobs//evil.example@x", "/jobs/named/?namespace=x&id=%2Fevil.example"),
        ("jobs/a\r\nSet-Cookie: x@team", "/jobs/named/?namespace=team&id=a%0D%0ASet-Cookie%3A+x"),
    ],
)
def test_each_link_leads_to_the_page_of_the_same_object(path, page):
    assert page_of(path) == page


def test_an_evaluation_is_named_in_the_query():
    assert page_of("evaluations", ID) == f"/evaluations/{ID}/"
    assert page_of("evaluations") == "/evaluations/"
