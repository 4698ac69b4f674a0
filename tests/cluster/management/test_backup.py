"""`manage.py backup` and `restore` as a person types them."""

import io
import stat

import pytest
from django.core.management import CommandError, call_command

from cluster.runtime import backups
from cluster.runtime.data_lock import alone_in
from cluster.runtime.embedded import data_directory
from cluster.seals import sealed_secret
from cluster.store.leases import LeaseKeeper
from scheduler.state.events import WriteKind
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.writes.jobs import write_job
from scheduler.structs.root_key import RootKey
from tests.builders import SOME_MOMENT, make_job
from tests.process_store import store

__all__ = ["store"]


@pytest.fixture
def data_dir(settings, tmp_path):
    settings.BIVOUAC_DATA_DIR = tmp_path / "data"
    return data_directory(settings.BIVOUAC_DATA_DIR)


@pytest.fixture(autouse=True)
def short_listening(monkeypatch):
    monkeypatch.setattr(backups, "LISTEN_S", 0.2)


def register(store, job_id):
    job = make_job(id=job_id)
    store.write(WriteKind.JOB_REGISTERED, lambda change: write_job(change, job), now=SOME_MOMENT)


def job_ids(store):
    return [job.id for job in store.read(lambda reader: reader.jobs())]


def run(*words):
    said = io.StringIO()
    call_command(*words, stdout=said)
    return said.getvalue()


def test_a_backup_is_told_inspected_and_put_back(store, data_dir, tmp_path):
    file = tmp_path / "kept.bivouac"
    register(store, "early")
    assert f"at index {store.index}" in run("backup", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    register(store, "late")

    told = run("backup", file, "--inspect")
    assert "Every checksum is right." in told
    assert f"Index       {store.index - 1}" in told
    assert ["job", "1"] in [line.split() for line in told.splitlines()]

    with pytest.raises(CommandError, match="--replace"):
        run("restore", file)
    assert job_ids(store) == ["early", "late"]
    told = run("restore", file, "--replace")
    assert "is kept in" in told
    assert job_ids(store) == ["early"]


def test_a_restore_under_another_secret_key_says_what_stays_shut(
    store, data_dir, tmp_path, settings
):
    file = tmp_path / "kept.bivouac"
    key = RootKey(key_id="k", sealed=sealed_secret("private half"))
    store.write(ROOT_KEYS.upserted, lambda change: change.put(ROOT_KEYS, key), now=SOME_MOMENT)
    run("backup", file)
    assert "does not open here" not in run("restore", file, "--replace")
    settings.SECRET_KEY = "of another data directory"
    told = run("restore", file, "--replace")
    assert "does not open here: variables," in told
    assert f"into\n{settings.BIVOUAC_DATA_DIR}, or" in told


def test_a_cluster_that_gives_signs_of_life_is_not_restored(
    store, data_dir, tmp_path, monkeypatch
):
    file = tmp_path / "kept"
    run("backup", file)
    keeper = LeaseKeeper("leader", "leader-on-another-machine")
    keeper.step(0.0)
    # The leader of another machine renews its lease while this one listens.
    monkeypatch.setattr(backups.time, "sleep", lambda _s: keeper.step(1.0))
    before = store.index
    with pytest.raises(CommandError, match="the leader leader-on-another-machine has just given"):
        run("restore", file, "--replace")
    assert store.index == before


def test_a_directory_in_which_up_runs_is_not_restored(store, data_dir, tmp_path):
    file = tmp_path / "kept"
    run("backup", file)
    with (
        alone_in(data_dir, "http://127.0.0.1:4646"),
        pytest.raises(
            CommandError, match=r"already running .* http://127\.0\.0\.1:4646 \(process"
        ),
    ):
        run("restore", file, "--replace")


@pytest.mark.parametrize("words", [("backup", "--inspect"), ("restore",)], ids=" ".join)
def test_what_is_no_backup_is_said_in_a_sentence(store, data_dir, tmp_path, words):
    file = tmp_path / "text"
    with pytest.raises(CommandError, match="does not exist"):
        run(*words, file)
    file.write_text("no backup")
    with pytest.raises(CommandError, match="is no whole backup"):
        run(*words, file)


def test_a_backup_that_cannot_be_written_leaves_nothing(store, tmp_path):
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        run("backup", tmp_path / "missing" / "kept")
    assert {path.name for path in tmp_path.iterdir()} & {".kept.draft", "kept"} == set()
