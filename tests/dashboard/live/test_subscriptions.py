import pytest

from dashboard.live.subscriptions import BadTopic, Subscription, authorise, parse_topics
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from tests.builders import SOME_MOMENT, make_evaluation

EVALUATION = make_evaluation(1, namespace="team")


@pytest.fixture
def reader():
    store = MemoryStateStore()
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: change.put_evaluation(EVALUATION),
        now=SOME_MOMENT,
    )
    return store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("overview", (("overview", "*"),), id="list-defaults-to-all"),
        pytest.param("jobs:team,nodes", (("jobs", "team"), ("nodes", "")), id="two"),
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
        "", "secrets", "job:web", "evaluation", "evaluation:", "overview:" + "x" * 400,
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
            "overview", "*", frozenset({"team"}), frozenset({"team"}), id="others-see-theirs"
        ),
        pytest.param("jobs", "team", None, frozenset({"team"}), id="one-namespace"),
        pytest.param("evaluation", EVALUATION.id, None, frozenset({"team"}), id="by-id"),
        pytest.param(
            "nodes", "", frozenset({"team"}), frozenset({"team"}), id="nodes-belong-to-none"
        ),
    ],
)
def test_subscription_shows_what_the_person_may_see(reader, kind, key, namespaces, expected):
    assert authorise(kind, key, namespaces, reader) == Subscription(kind, key, expected)


@pytest.mark.parametrize(
    ("kind", "key", "namespaces"),
    [
        pytest.param("evaluation", EVALUATION.id, frozenset({"default"}), id="other-namespace"),
        pytest.param("evaluation", "ffffffff", None, id="unknown"),
        pytest.param("jobs", "team", frozenset({"default"}), id="list-of-other-namespace"),
        pytest.param("job", "team/none", None, id="unknown-job"),
    ],
)
def test_unknown_and_forbidden_get_the_same_answer(reader, kind, key, namespaces):
    with pytest.raises(BadTopic, match=r"is unknown here"):
        authorise(kind, key, namespaces, reader)
