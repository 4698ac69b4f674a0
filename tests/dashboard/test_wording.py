import pytest

from dashboard import wording
from dashboard.wording import natural

MS = 1_000_000
SECOND = 1000 * MS
SPANS = [
    pytest.param(0, "0 ms", id="nothing"),
    pytest.param(12 * MS, "12 ms", id="milliseconds"),
    pytest.param(173 * MS, "173 ms", id="below-a-quarter-second"),
    pytest.param(400 * MS, "0.4 s", id="tenths"),
    pytest.param(41 * SECOND, "41 s", id="seconds"),
    pytest.param(981 * SECOND, "16 min 21 s", id="two-units"),
    pytest.param(5760 * SECOND, "1 h 36 min", id="hours"),
    pytest.param(97200 * SECOND, "1 d 3 h", id="days"),
    pytest.param(3600 * SECOND, "1 h", id="a-round-hour"),
    pytest.param(-41 * SECOND, "\N{MINUS SIGN}41 s", id="negative"),
]


@pytest.mark.parametrize(
    ("actor", "told"),
    [
        pytest.param("worker worker@vm/2101/f689866f", "worker f689866f", id="worker"),
        pytest.param("applier", "applier", id="one-word"),
        pytest.param("", "", id="nobody"),
    ],
)
def test_a_worker_is_told_by_the_last_part_of_its_name(actor, told):
    assert wording.short_actor(actor) == told


@pytest.mark.parametrize(("nanoseconds", "expected"), SPANS)
def test_spans_have_two_units_at_most(nanoseconds, expected):
    assert wording.span(nanoseconds) == expected


def test_ages_look_back_and_ahead():
    assert wording.age(10 * SECOND, 25 * SECOND) == "15 s"
    assert wording.age(173 * SECOND, 25 * SECOND) == "in 2 min 28 s"
    assert wording.age(0, 25 * SECOND) == "\N{EN DASH}"


def test_numbers_are_grouped_by_narrow_spaces():
    assert wording.number(48396) == "48\u202f396"
    assert wording.number(-1204) == "\N{MINUS SIGN}1\u202f204"
    assert wording.count_of(1, "{count} node", "{count} nodes") == "1 node"
    assert wording.count_of(0, "{count} entry", "{count} entries") == "0 entries"


def test_instants_are_written_in_utc():
    instant = 1_795_270_711_902 * MS
    assert wording.clock_time(instant, with_milliseconds=True) == "14:18:31.902"
    assert wording.full_time(instant) == "21 Nov 2026 14:18:31 UTC"
    assert wording.machine_time(instant) == "2026-11-21T14:18:31.902Z"
    assert wording.clock_time(0) == "\N{EN DASH}"


def test_clipped_text_has_no_control_characters():
    assert wording.clipped("a\x00b\nc", 10) == "a b c"
    assert wording.clipped("abcdefgh", 5) == "abcd\N{HORIZONTAL ELLIPSIS}"


def test_names_are_ordered_as_people_count():
    assert sorted(["r10", "r2", "web[10]", "web[5]", "web-1-10", "web-1-9", ""], key=natural) == [
        "", "r2", "r10", "web-1-9", "web-1-10", "web[5]", "web[10]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("${attr.kernel.name} = linux", "it asks for kernel.name = linux"),
        ("${meta.rack} is r3", "it asks for meta.rack = r3"),
        ("${node.class} not big", "it asks for node.class != big"),
        ("${attr.cpu.arch} != arm64", "it asks for cpu.arch != arm64"),
        ("${meta.gpu} is_set ", "it asks for nodes that have meta.gpu"),
        ("${meta.gpu} is_not_set", "it asks for nodes without meta.gpu"),
        (
            "${attr.kernel.version} version >= 6.1",
            "it asks for a version of kernel.version that is >= 6.1",
        ),
        ("${meta.zones} set_contains_any a,b", "it asks for meta.zones with any of a,b in it"),
        ("${node.class} regexp ^a[12] .*", "it asks for node.class that matches ^a[12] .*"),
        ("distinct_hosts", "another of its own runs there"),
        ("cpu", "CPU"),
        ("missing drivers", "missing drivers"),
    ],
)
def test_what_keeps_work_from_a_node_is_a_clause(reason, told):
    assert wording.obstacle_word(reason) == told
