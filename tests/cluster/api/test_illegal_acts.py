"""A status that may not be is a caller's mistake: a sentence and a 4xx, and nothing changed."""

import pytest
from django.urls import path

from cluster.api.request import door
from cluster.api.respond import answer_empty
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_evaluation
from tests.cluster.api.clients import put

FAILED = make_evaluation(1, status=EvalStatus.FAILED)


def begin_again(store, *, by, now):
    pending = FAILED.changed(status=EvalStatus.PENDING)
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(pending), now=now
    )


async def revive(call):
    await call.write(begin_again, ids=False)
    return answer_empty()


urlpatterns = [path("revive", door({"PUT": revive}))]


@pytest.fixture
def index(store, settings):
    settings.ROOT_URLCONF = __name__
    return put(store, lambda change: put_found(change, FAILED))


async def test_an_illegal_act_is_refused_with_a_sentence(store, api, index):
    answer = await api.put("/revive")
    assert (answer.status, answer.text) == (
        409,
        f"evaluation {FAILED.id} is failed and may not become pending",
    )
    assert await store.aread(lambda reader: reader.index) == index
