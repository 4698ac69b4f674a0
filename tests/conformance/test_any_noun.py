"""A noun made up here, declared and nothing else, on every store: what a declaration gives.

Its table is made by hand; a real noun has a model and a migration.
"""

import pytest
from django.db import connections

from cluster.store.frame_codec import decode_frame, encode_events
from cluster.store.writer import DjangoStateStore
from scheduler.state import nouns
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.noun import Index, Noun, Owner, encode
from scheduler.state.open_change import OpenChange
from scheduler.state.record import Record
from scheduler.structs.wire import Wire
from tests.builders import make_evaluation


class Parcel(Wire, frozen=True):
    """Something that is sent from one shelf to another for an evaluation."""

    name: str = ""
    shelf: str = ""
    weight: int = 0
    eval_id: str = ""


PARCELS: Noun[str, Parcel] = Noun(
    struct=Parcel,
    topic="Parcel",
    table="parcel",
    key=lambda parcel: parcel.name,
    columns={
        "shelf": lambda parcel: parcel.shelf,
        "weight": lambda parcel: parcel.weight,
        "eval_id": lambda parcel: parcel.eval_id,
    },
    indexes={
        "shelf": Index(lambda parcel: parcel.shelf, ("shelf",)),
        "heavy": Index(lambda parcel: () if parcel.weight > 9 else None, condition="weight > 9"),
        "eval": Index(lambda parcel: parcel.eval_id, ("eval_id",)),
    },
    table_index="parcels",
    owner=Owner("Evaluation", "eval"),
)
TABLE = (
    "CREATE TABLE parcel (name text PRIMARY KEY, shelf text NOT NULL, weight bigint NOT NULL,"
    " eval_id text NOT NULL, body {blob} NOT NULL)"
)

EVAL = make_evaluation()
LIGHT = Parcel(name="b", shelf="top", weight=1, eval_id=EVAL.id)
HEAVY = Parcel(name="a", shelf="top", weight=10)
LOW = Parcel(name="c", shelf="low", weight=2)


@pytest.fixture
def parcels(store, monkeypatch):
    """A store that knows parcels."""
    monkeypatch.setitem(nouns.NOUN_OF_TOPIC, "Parcel", PARCELS)
    if isinstance(store, MemoryStateStore):
        yield store
        return
    connection = connections[store.alias]
    with connection.cursor() as cursor:
        cursor.execute(TABLE.format(blob="blob" if connection.vendor == "sqlite" else "bytea"))
    yield store
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE parcel")


def put(store, *rows):
    def work(change):
        for row in rows:
            change.put(PARCELS, row)

    return store.write(PARCELS.upserted, work, now=1)[0]


def test_rows_are_got_and_listed_by_key(parcels):
    put(parcels, LIGHT, HEAVY, LOW)
    assert parcels.read(lambda reader: reader.get(PARCELS, "b")) == LIGHT
    assert parcels.read(lambda reader: reader.get(PARCELS, "z")) is None
    assert [*parcels.read(lambda reader: reader.list_all(PARCELS))] == [HEAVY, LIGHT, LOW]


def test_rows_are_listed_by_each_index_and_follow_their_place(parcels):
    put(parcels, LIGHT, HEAVY, LOW)
    put(parcels, Parcel(name="b", shelf="low", weight=11))
    moved = Parcel(name="b", shelf="low", weight=11)

    def read(index, place):
        return [*parcels.read(lambda reader: reader.list_by(PARCELS, index, place))]

    assert read("shelf", "top") == [HEAVY]
    assert read("shelf", "low") == [moved, LOW]
    assert read("heavy", ()) == [HEAVY, moved]


def test_a_deleted_row_is_gone_everywhere(parcels):
    put(parcels, LIGHT, HEAVY)
    parcels.write(PARCELS.deleted, lambda change: change.delete(PARCELS, "a"), now=2)
    assert parcels.read(lambda reader: reader.get(PARCELS, "a")) is None
    assert [*parcels.read(lambda reader: reader.list_all(PARCELS))] == [LIGHT]
    assert [*parcels.read(lambda reader: reader.list_by(PARCELS, "shelf", "top"))] == [LIGHT]


def test_deleting_what_is_not_there_takes_no_index(parcels):
    before = put(parcels, LIGHT)
    index, _ = parcels.write(PARCELS.deleted, lambda change: change.delete(PARCELS, "z"), now=2)
    assert index == before


def test_a_change_reads_its_own_puts_over_the_record(parcels):
    put(parcels, LIGHT, HEAVY)

    def work(change):
        change.put(PARCELS, LOW)
        change.put(PARCELS, Parcel(name="b", shelf="low", weight=3))
        change.delete(PARCELS, "a")
        return (
            change.get(PARCELS, "a"),
            [row.name for row in change.list_all(PARCELS)],
            [row.name for row in change.list_by(PARCELS, "shelf", "top")],
            [row.name for row in change.list_by(PARCELS, "shelf", "low")],
            [*change.list_by(PARCELS, "heavy", ())],
        )

    seen = parcels.write(PARCELS.upserted, work, now=2)[1]
    assert seen == (None, ["b", "c"], [], ["b", "c"], [])


def test_the_event_names_the_row_and_moves_the_index_of_its_table(parcels):
    index = put(parcels, LIGHT)
    (frame,) = parcels.frames_since(index - 1)
    (event,) = frame.events
    assert (frame.kind, event.topic, event.key) == ("ParcelUpserted", "Parcel", "b")
    assert (event.namespace, event.value, event.deleted) == ("", LIGHT, False)
    assert parcels.read(lambda reader: reader.table_index("parcels")) == index


def test_the_log_replayed_gives_the_same_rows(parcels):
    before = parcels.read(lambda reader: reader.index)
    put(parcels, LIGHT, HEAVY, LOW)
    parcels.write(PARCELS.deleted, lambda change: change.delete(PARCELS, "a"), now=2)
    mirror = Record()
    for frame in parcels.frames_since(before):
        mirror.apply(frame.index, frame.events, ())
    assert [*mirror.list_all(PARCELS)] == [LIGHT, LOW]
    assert mirror.table_index("parcels") == parcels.read(lambda reader: reader.index)


def test_rows_go_with_their_owner(parcels):
    parcels.write("Any", lambda change: change.put_evaluation(EVAL), now=1)
    put(parcels, LIGHT, LOW)

    def work(change):
        change.delete_evaluation(EVAL.id)
        return [*change.list_by(PARCELS, "eval", EVAL.id)]

    assert parcels.write("Any", work, now=2)[1] == []
    assert [*parcels.read(lambda reader: reader.list_all(PARCELS))] == [LOW]


def test_a_row_survives_the_coding_of_its_frame(monkeypatch):
    monkeypatch.setitem(nouns.NOUN_OF_TOPIC, "Parcel", PARCELS)
    change = OpenChange(MemoryStateStore(), 1)
    change.put(PARCELS, LIGHT)
    bodies = [encode(event.value) for event in change.events]
    coded = encode_events(change.events, bodies)
    assert decode_frame(7, 1, PARCELS.upserted, coded).events == change.events


def test_a_noun_with_rules_is_put_by_its_own_method_only(memory_store):
    change = OpenChange(memory_store, 1)
    with pytest.raises(AssertionError, match="Evaluation has a method of its own"):
        change.put(nouns.EVALUATIONS, EVAL)


def test_every_noun_has_a_table_of_its_columns(sqlite_store: DjangoStateStore):
    connection = connections[sqlite_store.alias]
    with connection.cursor() as cursor:
        for noun in nouns.NOUNS:
            table = connection.introspection.get_table_description(cursor, noun.table)
            columns = {column.name for column in table}
            assert set(noun.column_names) <= columns, noun.table
            for index in noun.indexes.values():
                assert set(index.columns) <= columns, noun.table
