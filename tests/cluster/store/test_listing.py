"""Pages of lists: prefix, namespaces, cursor, order; the same from both databases."""

import pytest

from cluster.store.listing import Listing, page
from scheduler.state.events import WriteKind
from tests.builders import make_evaluation, make_job, make_node


@pytest.fixture
def filled(record):
    """Evaluations `1a`..`3a` of namespace `default`, created in this order, and `1b` of `team`."""

    def work(change):
        for place, name in enumerate(("3a", "1a", "2a")):
            change.put_evaluation(make_evaluation(id=name, create_index=10 + place))
        change.put_evaluation(make_evaluation(id="1b", create_index=9, namespace="team"))
        for namespace, job_id in (("team", "a"), ("default", "web"), ("default", "we_b")):
            change.put_job(make_job(namespace=namespace, id=job_id))
        change.put_node(make_node(id="f00d"))
        change.put_node(make_node(id="beef"))

    record.write(WriteKind.EVALUATION_UPDATED, work, now=1)
    return record


PAGES = [
    pytest.param("evaluations", {}, ["1b", "3a", "1a", "2a"], id="in-order-of-creation"),
    pytest.param("evaluations", {"reverse": True}, ["2a", "1a", "3a", "1b"], id="reversed"),
    pytest.param("evaluations", {"prefix": "1"}, ["1b", "1a"], id="prefix"),
    pytest.param("evaluations", {"namespaces": ["team"]}, ["1b"], id="namespace"),
    pytest.param("evaluations", {"namespaces": []}, [], id="no-namespace"),
    pytest.param("evaluations", {"after": (11, "1a")}, ["1a", "2a"], id="cursor-is-inclusive"),
    pytest.param("evaluations", {"after": (11, "1a"), "reverse": True}, ["1a", "3a", "1b"],
                 id="cursor-reversed"),
    pytest.param("evaluations", {"limit": 2}, ["1b", "3a", "1a"], id="one-more-than-the-limit"),
    pytest.param("jobs", {}, ["we_b", "web", "a"], id="jobs-by-key"),
    pytest.param("jobs", {"prefix": "we_"}, ["we_b"], id="no-wildcards-in-a-prefix"),
    pytest.param("nodes", {"namespaces": ["team"], "limit": 1}, ["beef", "f00d"],
                 id="nodes-have-no-namespace"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "fields", "ids"), PAGES)
def test_a_page_holds_the_rows_asked_for(filled, table, fields, ids):
    assert [row.id for row in filled.read(lambda r: page(r, table, Listing(**fields)))] == ids
