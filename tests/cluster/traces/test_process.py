"""The process that sends traces, as the leader starts it: real, on a record of its own."""

import logging
import os
import shutil
import subprocess
import sys
import time

import pytest
from django.conf import settings

from cluster.runtime import trace_process
from cluster.runtime.clock import SystemClock
from cluster.runtime.trace_process import PLACE, TraceChild
from cluster.store.access import close_the_store, the_store
from scheduler.state.found_rows import put_found
from scheduler.structs.evaluation import EvalStatus
from tests.builders import make_evaluation
from tests.cluster.api.clients import put
from tests.patience import PATIENCE_S
from tests.process_store import database_at

CLOCK = SystemClock()


def until(is_so, what):
    limit = CLOCK.monotonic() + PATIENCE_S
    while CLOCK.monotonic() < limit:
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError(f"in vain: {what}")


def test_it_sends_what_ends_and_ends_when_it_is_told(
    sqlite_template, tmp_path, django_db_blocker, receiver
):
    file = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, file)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "cluster.settings",
        "BIVOUAC_DATA_DIR": str(tmp_path),
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-team=a",
    }
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), "runtraces"],
            env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        until(lambda: b"action=send_traces to=" in log.read_bytes(), "that it follows")
        one = make_evaluation(1, status=EvalStatus.COMPLETE)
        with django_db_blocker.unblock(), database_at(file):
            put(the_store(), lambda change: put_found(change, one))
            close_the_store()
        until(lambda: receiver.of_trace(one.id), "a trace")
        until((tmp_path / PLACE).exists, "its place")
    finally:
        process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert receiver.headers[0]["x-team"] == "a"
    assert "Traceback" not in log.read_text()


def test_it_is_not_run_without_an_endpoint():
    done = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "runtraces"],
        check=False, capture_output=True, text=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip
    assert done.returncode == 1
    assert "BIVOUAC_OTLP_ENDPOINT says where traces go; it is not set." in done.stderr


def test_one_that_died_is_started_again_until_its_leader_ends(tmp_path, monkeypatch, caplog):
    runs = tmp_path / "runs"
    dies = f"open({str(runs)!r}, 'a').write('x')"
    lives = f"{dies}; import time; time.sleep(60)"
    monkeypatch.setattr(trace_process, "_AGAIN_S", 0.05)
    programs = iter([dies, dies])

    def program(_word):
        return sys.executable, "-c", next(programs, lives)

    monkeypatch.setattr(trace_process, "program", program)
    child = TraceChild()
    child.start()
    until(lambda: runs.exists() and len(runs.read_text()) == 3, "three runs")
    monkeypatch.setattr(trace_process, "_AGAIN_S", 30)
    child.stop()

    assert not child._thread.is_alive()
    assert child._process.poll() is not None
    said = [each.getMessage() for each in caplog.records]
    assert said == ["action=run_traces ended code=0; started again"] * 2


@pytest.fixture(autouse=True)
def _told(caplog):
    caplog.set_level(logging.INFO)
