"""Backups as a person asks for them: a file whole or not there, a cluster that stands still.

In: names of files. Out: what was kept or put back. How a backup looks is `cluster.store.backup`'s.
"""

import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from cluster.runtime.clock import SystemClock
from cluster.runtime.data_lock import CannotStart, alone_in
from cluster.runtime.embedded import data_directory, open_private
from cluster.seals import SealBroken, opened_secret
from cluster.store.access import the_store
from cluster.store.backup.archive import Contents
from cluster.store.backup.dump import write_backup
from cluster.store.backup.restore import Restored, readable_contents, restore_backup
from cluster.store.signs import read_signs_of_life
from scheduler.ports import StateReader
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.structs.root_key import RootKey

#: Whoever leads, applies or serves gives a sign each second.
LISTEN_S = 3.0


def back_up(file: Path) -> Contents:
    """Write a backup while everything runs; a file of that name is replaced once it is whole."""
    draft = file.with_name(f".{file.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        with open_private(draft) as target:
            contents = write_backup(target, now=SystemClock().now())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    return contents


def restore(file: Path, *, replace: bool, write: Callable[[str], None]) -> Restored:
    """Put a backup in the record's place.

    Raises CannotStart while anybody works on the record, and what `restore_backup` raises.
    """
    readable_contents(file)
    with alone_in(data_directory(settings.BIVOUAC_DATA_DIR), "a restore"):
        write(f"Listening for {LISTEN_S:g} s whether anybody works on the record.")
        before = read_signs_of_life(the_store())
        time.sleep(LISTEN_S)
        alive = read_signs_of_life(the_store()).moved_since(before)
        if alive:
            raise CannotStart(
                f"The cluster is running: {alive[0]} has just given a sign of life. Stop `up` on"
                " every server machine, then restore; agents and their tasks may go on. Or put it"
                " back under the running cluster: nomad operator snapshot restore."
            )
        return restore_backup(file, replace=replace, now=SystemClock().now())


def is_shut() -> bool:
    """Whether some root key of the record was sealed under another secret key than ours."""

    def shut(reader: StateReader) -> bool:
        return not all(map(_opens, reader.list_all(ROOT_KEYS)))

    return the_store().read(shut)


def _opens(key: RootKey) -> bool:
    try:
        opened_secret(key.sealed)
    except SealBroken:
        return False
    return True
