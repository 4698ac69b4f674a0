import pytest

from cluster.policies.read import read_policy
from dashboard.live.topics import BadTopic, Looker, authorise, parse_topics
from dashboard.subscription import Subscription
from scheduler.access.access import NOBODY, access_of
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.jobs import write_job
from tests.builders import SOME_MOMENT, make_evaluation, make_job

EVALUATION = make_evaluation(1, namespace="team")


def access(level, **levels):
    """Everywhere that level; of blocks without names the levels given."""
    text = f'namespace "*" {{ policy = "{level}" }}'
    blocks = [f'{block} {{ policy = "{level}" }}' for block, level in levels.items()]
    return access_of([read_policy("\n".join([text, *blocks]))])


@pytest.fixture
def reader():
    store = MemoryStateStore()
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: (
            change.put_evaluation(EVALUATION),
            write_job(change, make_job(namespace="team")),
        ),
        now=SOME_MOMENT,
    )
    return store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("overview", (("overview", "*"),), id="list-defaults-to-all"),
        pytest.param("overview:team/1h", (("overview", "team/1h"),), id="moves-of-an-hour"),
        pytest.param("overview:*/", (("overview", "*"),), id="moves-of-a-minute"),
        pytest.param(
            "jobs:namespace%3Dteam,nodes", (("jobs", "namespace=team"), ("nodes", "")), id="two"
        ),
        pytest.param("node:n1,node:n1", (("node", "n1"),), id="named-twice"),
        pytest.param(
            "job:team/web/api", (("job", "team/web/api"),), id="job-ids-may-hold-slashes"
        ),
    ],
)
def test_topics_are_read(text, expected):
    assert parse_topics(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "secrets", "job:web", "evaluation", "evaluation:", "overview:" + "x" * 700,
        "overview:*/2y",
        # Of a list in words that are not its own: its frames would belong to nobody.
        "explain:e/web", "explain:e/group%3Dweb%26rows%3Dwrong",
        "jobs:team", "jobs:sort%3D-name%26wrong%3D1", "jobs:status%3Dno",
        ",".join(f"node:{place}" for place in range(13)),
    ],
)  # fmt: skip
def test_other_topics_are_refused(text):
    with pytest.raises(BadTopic):
        parse_topics(text)


@pytest.mark.parametrize(
    ("kind", "key", "namespaces", "expected"),
    [
        pytest.param("overview", "*", None, None, id="staff-see-all"),
        pytest.param(
            "overview", "*/5m", frozenset({"team"}), frozenset({"team"}), id="others-see-theirs"
        ),
        pytest.param("jobs", "namespace=team", None, None, id="one-namespace"),
        pytest.param("evaluation", EVALUATION.id, None, frozenset({"team"}), id="by-id"),
        pytest.param(
            "nodes", "", frozenset({"team"}), frozenset({"team"}), id="nodes-belong-to-none"
        ),
    ],
)
def test_subscription_shows_what_the_person_may_see(reader, kind, key, namespaces, expected):
    looker = Looker(access("read", node="read"), namespaces)
    found = authorise(kind, key, looker, reader)
    assert (found.kind, found.key, found.namespaces) == (kind, key, expected)


@pytest.mark.parametrize(
    ("kind", "key", "namespaces"),
    [
        pytest.param("evaluation", EVALUATION.id, frozenset({"default"}), id="other-namespace"),
        pytest.param("evaluation", "ffffffff", None, id="unknown"),
        pytest.param(
            "jobs", "namespace=team", frozenset({"default"}), id="list-of-other-namespace"
        ),
        pytest.param("job", "team/none", None, id="unknown-job"),
    ],
)
def test_unknown_and_forbidden_get_the_same_answer(reader, kind, key, namespaces):
    with pytest.raises(BadTopic, match=r"is unknown here"):
        authorise(kind, key, Looker(access("read", node="read"), namespaces), reader)


@pytest.mark.parametrize(
    ("kind", "right"),
    [
        pytest.param("nodes", "node:read", id="nodes"),
        pytest.param("drains", "node:read", id="drains"),
        pytest.param("jobs", "read-job", id="jobs"),
        pytest.param("evaluation", "read-job", id="evaluation"),
    ],
)
def test_a_topic_without_its_right_is_refused_by_the_name_of_the_right(reader, kind, right):
    with pytest.raises(BadTopic, match=right):
        authorise(kind, EVALUATION.id, Looker(NOBODY, frozenset()), reader)


def test_the_same_job_with_other_buttons_is_another_group_of_viewers(reader):
    looks, writes = (
        authorise("job", "team/web", Looker(access(level), None), reader)
        for level in ("read", "write")
    )
    assert looks == Subscription("job", "team/web", frozenset({"team"}))
    assert {"stop", "purge", "promote"} <= writes.may


def test_nodes_are_counted_for_those_who_may_look_at_them(reader):
    def counted(**levels):
        looker = Looker(access("read", **levels), None)
        return authorise("navigation", "*", looker, reader).may

    assert (counted(), counted(node="read")) == (frozenset(), frozenset({"node:read"}))


def test_an_open_explanation_still_offers_to_ask_how_it_is_now(reader):
    ((kind, key),) = parse_topics(f"explain:{EVALUATION.id}/group%3Dweb%26rows%3Deach")
    for level, may in (("read", {"node:read"}), ("deny", set())):
        looker = Looker(access("read", node=level), None)
        assert authorise(kind, key, looker, reader).may == may
