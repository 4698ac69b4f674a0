"""The page of sizes: what grows, how much of it there is, and who may look."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.sessions.models import Session

from cluster.runtime.clock import SystemClock
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.sizes import read_sizes
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import WriteKind
from scheduler.state.writes.explanations import write_explanations
from scheduler.state.writes.jobs import write_job
from scheduler.structs.collection import Collection
from scheduler.structs.explanation import StoredExplanation
from tests.builders import SOME_MOMENT, make_evaluation, make_job
from tests.dashboard.views.conftest import Browser, one_line
from tests.people import account


@pytest.fixture
def filled(store):
    evaluation = make_evaluation()
    for kind, work in (
        (WriteKind.EVALUATION_UPDATED, lambda change: change.put_evaluation(evaluation)),
        (WriteKind.COLLECTED, lambda change: change.delete_evaluation(evaluation.id)),
        (WriteKind.JOB_REGISTERED, lambda change: write_job(change, make_job())),
    ):
        store.write(kind, work, now=SOME_MOMENT)
    return store


def test_sizes_are_counted_in_the_record(filled):
    Session.objects.create(
        session_key="old", session_data="", expire_date=datetime(2025, 1, 1, tzinfo=UTC)
    )
    sizes = read_sizes(filled, now=SOME_MOMENT)
    assert (sizes.database, sizes.index, sizes.event_count) == ("sqlite", 4, 3)
    assert (sizes.session_count, sizes.ended_session_count) == (1, 1)
    assert (sizes.rows["job"], sizes.rows["evaluation_stub"], sizes.rows["node"]) == (1, 1, 0)
    assert sizes.oldest_event_at == SOME_MOMENT
    assert sizes.size > 100_000
    assert 0 < sizes.event_size < sizes.size


def test_the_page_says_what_grows_and_what_keeps_it_within_bounds(
    filled, browser, settings, tmp_path
):
    settings.BIVOUAC_DATA_DIR = tmp_path
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "web.log").write_bytes(b"x" * 2048)
    (tmp_path / "logs" / "web.log.1").write_bytes(b"x" * 1024)
    settings.BIVOUAC_STUB_DAYS, settings.BIVOUAC_STUB_COUNT = 7, 1000
    answer = browser.get("/inside/")
    assert answer.status == 200
    text = answer.text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    for told in (
        "are free on the disk of the data directory.",
        "7 days, at most 1 000",
        "<code>BIVOUAC_STUB_DAYS</code>",
        "3 writes, ",
        '<th scope="row">web.log</th><td class="number">2.0 KiB</td>',
        '<th scope="row">web.log.1</th><td class="number">1.0 KiB</td>',
        "of this machine, 3.0 KiB;",
        '<th scope="row">evaluation stub</th><td class="number">1</td>',
    ):
        assert one_line(told) in text, told


def test_it_says_how_many_runs_stay_explained_and_within_how_much(store, browser, settings):
    settings.BIVOUAC_EXPLAINED_RUNS, settings.BIVOUAC_EXPLAINED_BYTES = 7, 2048
    explained = [
        StoredExplanation(
            eval_id=eval_id, task_group=group, namespace="default", job_id="web", packed=b"x" * 512
        )
        for eval_id, group in (("e1", "web"), ("e1", "db"), ("e2", "web"))
    ]
    store.write(
        WriteKind.EVALUATION_UPDATED,
        lambda change: write_explanations(change, explained),
        now=SOME_MOMENT,
    )
    sizes = read_sizes(store, now=SOME_MOMENT)
    assert (sizes.explained_count, sizes.explained_size) == (2, 1536)
    text = browser.get("/inside/").text
    text = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "2 runs, 1.5 KiB" in text
    assert "of each job 7 runs, at most 2.0 KiB: in turns those that failed" in text
    assert "<code>BIVOUAC_EXPLAINED_RUNS</code>" in text


def test_a_disk_that_is_almost_full_is_called_so(store, browser, monkeypatch):
    from dashboard.views import inside

    monkeypatch.setattr(inside.shutil, "disk_usage", lambda _: inside.Disk(4 * 2**30, 100 * 2**30))
    assert "That is little: a full disk ends every write." in browser.get("/inside/").text
    monkeypatch.setattr(inside.shutil, "disk_usage", lambda _: inside.Disk(6 * 2**30, 100 * 2**30))
    assert "That is little" not in browser.get("/inside/").text


def plain(answer):
    return answer.text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_the_page_says_what_is_collected_what_went_last_and_when_next(store, browser, settings):
    settings.BIVOUAC_EVAL_GC_THRESHOLD = 7200
    now = SystemClock().now()
    minute = 60 * 10**9
    rows = (
        Collection(
            name="eval-gc",
            started_at=now - minute,
            ended_at=now - minute + 2 * 10**9,
            evaluations=1200,
            allocations=1,
        ),
        Collection(name="job-gc", started_at=now - minute, ended_at=now - minute),
        Collection(name="node-gc", started_at=now - minute, nodes=2),
        Collection(name="force-gc", demanded_at=now),
    )
    store.write("t", lambda change: [change.put(COLLECTIONS, row) for row in rows], now=now)
    text = plain(browser.get("/inside/"))
    for told in (
        "<code>eval-gc</code>",
        "2 h (1 d of batch jobs) after the last change.",
        "1 200 evaluations, 1 allocation, in 2.0 s",
        "nothing, in 0 ms",
        "2 nodes, and it goes on",
        "never yet",
        "asked for ",
        "runs within 5 min",
        "<code>BIVOUAC_BATCH_EVAL_GC_THRESHOLD</code>",
        'data-confirm="collect-now"',
    ):
        assert told in text, told
    assert re.search(r"runs in [34] min", text)


def test_a_manager_has_it_collected_now(store, browser):
    answer = browser.post("/inside/collect/")
    assert (answer.status, answer.headers["Location"]) == (302, "/inside/")
    assert store.read(lambda reader: reader.get(COLLECTIONS, "force-gc")).is_awaited
    assert "is being collected." in browser.get("/inside/").text


def test_who_is_no_manager_has_nothing_collected(store, guest):
    assert guest.post("/inside/collect/").status == 403
    assert store.read(lambda reader: reader.get(COLLECTIONS, "force-gc")) is None


def overrides_of(store):
    return store.read(lambda reader: reader.collection_overrides())


def index_of(store):
    return store.read(lambda reader: reader.index)


def test_a_manager_sets_when_is_collected_and_goes_back(store, browser):
    text = plain(browser.get("/inside/"))
    assert "all values by the environment" in text
    assert "this page</strong>" not in text
    answer = browser.post("/inside/collection/", seen="0", job_age=" 1h30m ", node_interval="10s")
    assert (answer.status, answer.headers["Location"]) == (302, "/inside/#content")
    stored = overrides_of(store)
    assert stored.values == {"job_age": 5400, "node_interval": 10}
    text = plain(browser.get("/inside/"))
    for told in (
        "They count from now on.",
        "2 values set on this page",
        "1 h 30 min after they were submitted; tagged ones for ever.",
        '<code>BIVOUAC_JOB_GC_THRESHOLD</code> <span class="quiet">4h</span>',
        'placeholder="4h" value="1h30m"',
        "runs within 10 s",
    ):
        assert told in text, told
    assert text.count("this page</strong>") == 2
    row = read_audit(store, AuditFilter(), limit=1).rows[0]
    assert (row.who_name, row.act, row.result, row.made_index, row.reason) == (
        "kim",
        "change collection settings",
        "done",
        stored.modify_index,
        "job_age 5400 s, node_interval 10 s",
    )
    browser.post("/inside/collection/", seen=str(stored.modify_index), job_age="2h", back="all")
    assert overrides_of(store).values == {}
    assert "all values by the environment" in browser.get("/inside/").text


def test_every_wrong_field_is_named_and_what_was_typed_stays(store, browser):
    before = index_of(store)
    typed = {
        "job_age": "soon",
        "node_interval": "9s",
        "token_interval": "24h1s",
        "token_age": "-1s",
        "evaluation_age": "87600h1s",
        "deployment_age": "0",
        "batch_evaluation_age": "87600h",
        "job_interval": "24h",
    }
    answer = browser.post("/inside/collection/", seen="0", **typed)
    assert answer.status == 400
    text = plain(answer)
    for text_typed in typed.values():
        assert f'value="{text_typed}"' in text, text_typed
    assert text.count('aria-invalid="true"') == 5
    for told in (
        "Wrong: Evaluations, threshold; Jobs, threshold; Nodes, interval; API tokens, interval; ",
        "; API tokens, threshold since they expired.",
        "Not a duration: write 30m, 4h or 1h30m.",
        "Must be from 10s to 24h.",
        "Must be from 0s to 87600h.",
    ):
        assert told in text, told
    assert (overrides_of(store).values, index_of(store)) == ({}, before)


@pytest.mark.parametrize("seen", ["", "x", "9" * 5000, "1"])
def test_a_form_of_other_settings_than_are_stored_changes_nothing(store, browser, seen):
    browser.post("/inside/collection/", seen="0", job_age="1h")
    answer = browser.post("/inside/collection/", seen=seen, job_age="2h")
    assert answer.status == 400
    assert "Somebody changed these settings since you opened the page." in answer.text
    assert 'value="2h"' in answer.text
    assert overrides_of(store).values == {"job_age": 3600}


def test_who_is_no_manager_sees_what_is_set_and_sets_nothing(store, browser, guest):
    reader = Browser(account(store, "operator"))
    browser.post("/inside/collection/", seen="0", job_age="1h")
    text = reader.get("/inside/").text
    assert ("this page</strong>" in text, 'name="job_age"' in text) == (True, False)
    for person in (reader, guest):
        assert person.post("/inside/collection/", job_age="2h").status == 403
    assert overrides_of(store).values == {"job_age": 3600}


def test_who_may_not_read_what_operators_do_is_not_shown_it(store, guest, stranger):
    assert guest.get("/inside/").status == 403
    assert stranger.get("/inside/").status == 302
