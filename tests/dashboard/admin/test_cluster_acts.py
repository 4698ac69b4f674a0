"""Settings of the scheduler and a collection from the admin: numbers, rehearsals, refusals."""

import html

import pytest
from django.contrib.auth.models import User
from django.test import Client

from cluster.operations.scheduler_settings import set_scheduler_settings
from scheduler.state.found_rows import put_found
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.scheduler_settings import PreemptionConfig, SchedulerSettings
from tests.builders import SOME_MOMENT, make_evaluation
from tests.callers import MANAGER
from tests.people import account_with

TABLE = "/admin/cluster/schedulersettingsrow/"
PAGE = f"{TABLE}settings/"
COLLECTIONS = "/admin/cluster/collectionrow/"
FORM = {"algorithm": "spread", "system": "on", "batch": "on"}


@pytest.fixture
def operator(store):
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


def text_of(answer):
    return html.unescape(answer.content.decode()).replace("\n", " ")


def settings(store):
    return store.read(lambda reader: reader.scheduler_settings())


def save(operator, store, **fields):
    return operator.post(PAGE, {**FORM, "seen": settings(store).modify_index, **fields})


def test_the_list_leads_to_the_form_which_says_what_waits(store, operator):
    waits = make_evaluation(status=EvalStatus.BLOCKED)
    store.write("made", lambda change: change.put_evaluation(waits), now=SOME_MOMENT)
    assert f'href="{PAGE}"' in text_of(operator.get(TABLE))
    assert "0 pending and 1 blocked evaluations now" in text_of(operator.get(PAGE))


def test_what_is_typed_is_stored_whole(store, operator):
    assert save(operator, store, memory="on").status_code == 302
    stored = settings(store)
    assert (stored.scheduler_algorithm, stored.memory_oversubscription_enabled) == ("spread", True)
    assert stored.preemption_config == PreemptionConfig(batch_scheduler_enabled=True)
    assert "The settings are stored." in text_of(operator.get(TABLE))


def test_it_is_rehearsed_and_every_answer_stays(store, operator):
    fields = {"algorithm": "spread", "rehearse": "1", "seen": "0"}
    answer = operator.post(PAGE, fields)
    (row,) = store.read(lambda reader: list(reader.list_all(REHEARSALS)))
    assert '"SchedulerAlgorithm":"spread"' in row.scenario
    page = operator.get(answer.headers["Location"])
    assert "Change the scheduler: use the algorithm spread" in text_of(page)
    # System jobs preempt as it is stored; the answer was no.
    assert page.context["form"]["system"].value() == ""
    assert settings(store).scheduler_algorithm == "binpack"


def test_a_pause_wants_its_word(store, operator):
    assert "Type pause to pause the scheduler." in text_of(save(operator, store, paused="on"))
    assert not settings(store).pause_eval_broker
    save(operator, store, paused="on", typed="pause")
    assert settings(store).pause_eval_broker


def test_what_somebody_changed_meanwhile_is_not_overwritten(store, operator):
    seen = settings(store).modify_index
    other = SchedulerSettings(scheduler_algorithm="spread", reject_job_registration=True)
    set_scheduler_settings(store, other, by=MANAGER, now=SOME_MOMENT)
    for stale in (str(seen), "", "rubbish"):
        told = text_of(save(operator, store, algorithm="binpack", seen=stale))
        assert "somebody changed the settings" in told
    assert settings(store).reject_job_registration


def test_an_algorithm_that_is_none_is_marked(store, operator):
    assert "Select a valid choice" in text_of(save(operator, store, algorithm="random"))
    assert settings(store).modify_index == 0


def test_a_collection_says_what_has_ended_and_is_asked_for(store, operator):
    ended = make_evaluation(status=EvalStatus.COMPLETE)
    store.write("made", lambda change: put_found(change, ended), now=SOME_MOMENT)
    assert f'href="{COLLECTIONS}collect/"' in text_of(operator.get(COLLECTIONS))
    page = text_of(operator.get(f"{COLLECTIONS}collect/"))
    assert "Ended or lost are 1 evaluation, 0 allocations, 0 jobs, 0 rollouts and 0 lost" in page
    before = store.read(lambda reader: reader.index)
    assert operator.post(f"{COLLECTIONS}collect/", {"x": "y"}).status_code == 302
    assert store.read(lambda reader: reader.index) > before
    assert "is being collected" in text_of(operator.get(COLLECTIONS))


def test_who_may_not_is_offered_nothing_and_refused(store):
    client = Client()
    client.force_login(
        account_with(store, 'node { policy = "write" } operator { policy = "read" }')
    )
    for table, page in ((TABLE, PAGE), (COLLECTIONS, f"{COLLECTIONS}collect/")):
        assert page not in text_of(client.get(table))
        assert client.post(page, FORM).status_code == 403
    assert settings(store).modify_index == 0
