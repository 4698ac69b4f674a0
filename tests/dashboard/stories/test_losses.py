"""The sums of a loss against rows of the record: they add up, by job and by place."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.store.lost_allocations import LostAlloc, ReplacedAlloc, StoryLosses
from dashboard.stories.losses import LossSums, loss_of
from dashboard.stories.places import StoryPlaces
from scheduler.structs.identity import JobKey

WEB, SYSTEM = JobKey("default", "web"), JobKey("default", "agent")
PLACES = StoryPlaces(word="rack", of_node={"n1": "r1", "n2": "r2", "n3": "r10"})


def lost(number, key=WEB, node="n1", by=""):
    own = f"{key.job_id}{number}"
    return LostAlloc(own, *key, f"{own}[0]", node, "service", by, is_unknown=False)


def placed(number, index=20):
    return ReplacedAlloc(f"next{number}", index, 1000 * index)


def rows_of(*gone, placed=()):
    return StoryLosses(lost=gone, placed=placed, is_cut=False)


def test_what_was_lost_is_replaced_needs_none_or_waits():
    rows = rows_of(
        lost(0, by="next0"), lost(1, node="n2", by="next1"), lost(2, node="n2"), lost(3, SYSTEM),
        placed=(placed(0), placed(1, 25), placed(7)),
    )  # fmt: skip
    loss = loss_of(rows, PLACES, {WEB})
    assert loss.sums == LossSums(lost=4, replaced=2, need_none=1)
    assert (loss.sums.missing, loss.sums.wanted, loss.replaced_at) == (1, 3, 0)
    assert [(line.key, line.sums.missing) for line in loss.jobs] == [(WEB, 1), (SYSTEM, 0)]
    assert [(line.place, line.nodes, line.sums.lost) for line in loss.places] == [
        ("r2", 1, 2), ("r1", 1, 2), ("r10", 1, 0),
    ]  # fmt: skip


def test_how_long_it_took_is_told_once_each_has_a_place():
    rows = rows_of(lost(0, by="next0"), lost(1, by="next1"), placed=(placed(0), placed(1, 25)))
    assert loss_of(rows, PLACES, {WEB}).replaced_at == 25_000
    then = loss_of(rows, PLACES, {WEB}, until=22)
    assert (then.sums.replaced, then.sums.missing, then.replaced_at) == (1, 1, 0)


def test_what_another_story_placed_counts_and_of_the_past_nobody_knows_when():
    rows = rows_of(lost(0, by="elsewhere"))
    assert loss_of(rows, PLACES, {WEB}).sums == LossSums(lost=1, replaced=1)
    assert loss_of(rows, PLACES, {WEB}, until=22).sums == LossSums(lost=1)


GONE = st.lists(
    st.tuples(st.sampled_from([WEB, SYSTEM]), st.sampled_from(["", "next0", "elsewhere"])),
    max_size=12,
)


@given(GONE, st.sets(st.sampled_from([WEB, SYSTEM])), st.none() | st.integers(0, 30))
def test_the_sums_of_jobs_and_of_places_are_those_of_all(gone, wanting, until):
    rows = rows_of(
        *(lost(at, key, f"n{1 + at % 3}", by) for at, (key, by) in enumerate(gone)),
        placed=(placed(0),),
    )
    loss = loss_of(rows, PLACES, wanting, until)
    assert loss.sums.missing >= 0
    for lines in (loss.jobs, loss.places):
        for name in ("lost", "replaced", "need_none", "missing"):
            assert sum(getattr(line.sums, name) for line in lines) == getattr(loss.sums, name)
