"""Records of earlier versions: each release left one; each can be kept and brought here."""

import re

import pytest
from django.conf import settings

from cluster.store.backup.archive import read_contents
from cluster.store.backup.dump import write_backup
from cluster.store.backup.restore import restore_backup
from cluster.store.backup.tables import LEFT_OUT, applied_migrations, known_migrations
from cluster.store.writer import DjangoStateStore
from tests.cluster.store.test_backup import MOVED, NOW, backed_up, rows_in
from tests.earlier_records import VERSIONS, unpack
from tests.record_databases import database, migrate, sqlite_settings


def test_every_release_left_a_record():
    text = (settings.BASE_DIR / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (\d+\.\d+\.\d+) \(", text, re.MULTILINE)[::-1] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_backup_of_an_earlier_record_becomes_what_migrating_makes_of_it(
    version, tmp_path, django_db_blocker
):
    old, new = sqlite_settings(tmp_path / "old"), sqlite_settings(tmp_path / "new")
    unpack(version, tmp_path / "old")
    file = tmp_path / "kept"
    with django_db_blocker.unblock():
        with database(old) as alias, file.open("wb") as target:
            write_backup(target, now=NOW, alias=alias)
        migrate(old)
        with database(old) as alias:
            migrated = rows_in(backed_up(DjangoStateStore(alias), tmp_path / "migrated"))
        with database(new) as alias:
            restore_backup(file, replace=False, now=NOW, alias=alias)
            assert applied_migrations(alias) == known_migrations()
            found = rows_in(backed_up(DjangoStateStore(alias), tmp_path / "restored"))
    # Those of new tables come with the next `migrate`, which `up` does.
    later = MOVED | LEFT_OUT | {"auth_permission", "django_content_type"}
    assert {name: found[name] for name in found.keys() - later} == {
        name: migrated[name] for name in migrated.keys() - later
    }
    assert {row["id"] for row in found["allocation"]} == {
        row["id"] for row in migrated["allocation"]
    }
    assert read_contents(file).rows["allocation"] == len(found["allocation"]) > 10
