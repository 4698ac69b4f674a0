"""Sentences of namespaces, pools and quotas: they say what their counts say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.store.ports import JobsFace, PoolFace, RoomHeld
from dashboard.governance import (
    Share,
    namespace_sentence,
    pool_sentence,
    quota_sentence,
    quota_shares,
)
from scheduler.structs.quota import QuotaAmounts

COUNTS = st.integers(0, 10**9)


@pytest.mark.parametrize(
    ("limits", "used", "namespaces", "told"),
    [
        pytest.param(
            QuotaAmounts(), QuotaAmounts(cpu=5), ["a"],
            ("It limits nothing.", "1 namespace counts against it."), id="no-limit",
        ),
        pytest.param(
            QuotaAmounts(cpu=10, memory_mb=10), QuotaAmounts(cpu=5, memory_mb=9), ["a", "b"],
            ("At most 90 % is used: Memory.", "2 namespaces count against it."), id="fullest",
        ),
        pytest.param(
            QuotaAmounts(cpu=10, memory_mb=10), QuotaAmounts(cpu=12, memory_mb=10), ["a"],
            (
                "CPU and Memory are used up.",
                "1 namespace counts against it. What needs more of it waits.",
            ),
            id="full",
        ),
        pytest.param(
            QuotaAmounts(cpu=-1, cores=4), QuotaAmounts(cores=1), ["a"],
            ("CPU is used up.", "1 namespace counts against it. What needs more of it waits."),
            id="nothing-at-all",
        ),
        pytest.param(
            QuotaAmounts(cores=4), QuotaAmounts(cores=3), ["a"],
            ("At most 75 % is used: Cores.", "1 namespace counts against it."), id="seldom",
        ),
        pytest.param(
            QuotaAmounts(cpu=10), QuotaAmounts(), [],
            ("At most 0 % is used: CPU.", "No namespace counts against it."), id="nobodys",
        ),
    ],
)  # fmt: skip
def test_a_quota_says_what_is_left_and_for_whom(limits, used, namespaces, told):
    assert quota_sentence(quota_shares(limits, used), namespaces) == told


@pytest.mark.parametrize(
    ("pool", "held", "told"),
    [
        pytest.param(
            PoolFace(), RoomHeld(),
            ("No node is in it.", "What names it waits until one joins."), id="empty",
        ),
        pytest.param(
            PoolFace(1, 1, 1000, 1000), RoomHeld(),
            ("1 of 1 node ready.", "Nothing holds room there."), id="idle",
        ),
        pytest.param(
            PoolFace(3, 2, 1000, 1000), RoomHeld(1, 999, 10),
            ("2 of 3 nodes ready.", "1 allocation holds 99 % of its CPU, 1 % of its memory."),
            id="used",
        ),
    ],
)  # fmt: skip
def test_a_pool_says_what_it_has_and_what_is_held(pool, held, told):
    assert pool_sentence(pool, held) == told


def test_a_namespace_says_what_it_holds():
    assert namespace_sentence(JobsFace(), QuotaAmounts()) == (
        "No job.",
        "No allocation holds room.",
    )
    strong, rest = namespace_sentence(JobsFace(2, 1), QuotaAmounts(cpu=5, allocations=1))
    assert strong == "2 jobs, 1 not ended."
    assert rest == "1 allocation holds 5\N{NO-BREAK SPACE}MHz and 0\N{NO-BREAK SPACE}MiB."


def test_where_nothing_may_be_held_the_meter_says_so():
    (cpu, *_) = quota_shares(QuotaAmounts(cpu=-5), QuotaAmounts(cpu=3))
    assert (cpu.told, cpu.is_full, cpu.percent) == ("3 of 0\N{NO-BREAK SPACE}MHz", True, 100)


def test_lists_have_the_same_dimensions_whatever_is_limited():
    words = [share.word for share in quota_shares(QuotaAmounts(cores=1), QuotaAmounts())]
    assert words == ["CPU", "Memory", "Disk", "Allocations", "Cores"]


@given(used=COUNTS, total=COUNTS)
def test_a_share_is_full_when_nothing_more_fits_and_says_so(used, total):
    share = Share(word="CPU", unit="MHz", used=used, total=total)
    assert share.is_full == (0 < total <= used)
    assert (share.percent >= 100) == share.is_full
    assert share.tone == ("blocked" if share.is_full else "")


@given(
    limits=st.builds(QuotaAmounts, cpu=COUNTS, memory_mb=COUNTS),
    used=st.builds(QuotaAmounts, cpu=COUNTS, memory_mb=COUNTS),
)
def test_no_sentence_of_a_quota_contradicts_its_meters(limits, used):
    shares = quota_shares(limits, used)
    strong, rest = quota_sentence(shares, ["a"])
    full = [share.word for share in shares if share.is_full]
    assert ("used up" in strong) == bool(full) == ("waits" in rest)
    assert ("limits nothing" in strong) == (limits == QuotaAmounts())
    if found := re.fullmatch(r"At most (\d+) % is used: (\w+)\.", strong):
        assert int(found[1]) == max(share.percent for share in shares if share.total)
