"""The sums of a loss on its page, where more was lost than one look reads."""

from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.nodes import write_node
from scheduler.structs.allocation import AllocState, ClientStatus
from scheduler.structs.story import Story, StoryKind, StoryNode
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_job, make_node

LOSS = Story(
    id="d" * 8 + "-loss", kind=StoryKind.LOSS, create_time=SOME_MOMENT, create_index=5,
    node_ids=(make_node().id,), node_count=1,
)  # fmt: skip


def lose(store):
    """Two allocations of a job on the node that is lost; one of them has a new place."""

    def work(change):
        write_job(change, make_job())
        write_node(change, make_node(name="one"))
        change.put(STORIES, LOSS)
        link = StoryNode(story_id=LOSS.id, node_id=make_node().id, kind=StoryKind.LOSS, index=9)
        change.put(STORY_NODES, link)
        placed = make_allocation(number=2)
        for number, follows in ((0, placed.id), (1, "")):
            lost = replace(
                make_allocation(number=number), node_id=make_node().id, create_index=number + 1,
                modify_index=9, client_status=ClientStatus.LOST, next_allocation=follows,
                alloc_states=(AllocState(value="lost", time=SOME_MOMENT + SECOND),),
            )  # fmt: skip
            put_found(change, lost)
        elsewhere = make_node(7).id
        put_found(
            change,
            replace(
                placed, node_id=elsewhere, create_index=8, create_time=SOME_MOMENT + 3 * SECOND
            ),
        )

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def test_a_loss_that_is_read_whole_counts_all(store, browser):
    lose(store)
    page = browser.get(f"/stories/{LOSS.id}/").text
    assert "<strong>1 of 2 lost allocations have a new place.</strong> 1 does not, yet." in page


def test_a_loss_that_is_read_in_part_says_so_in_its_sentence(store, browser, monkeypatch):
    lose(store)
    monkeypatch.setattr("cluster.store.story_losses.MOST_LOST", 1)
    page = browser.get(f"/stories/{LOSS.id}/").text
    assert "<strong>1 of the 1 oldest lost allocations have a new place.</strong>" in page
    assert "more than these: the oldest are counted" in page


def test_one_of_the_same_name_takes_the_place_of_a_lost_one_that_it_does_not_name(store, browser):
    """As the second try of a plan does that was committed in part."""
    lose(store)

    def work(change):
        again = replace(
            make_allocation(number=1), id="e" * 36, node_id=make_node(7).id, create_index=10,
            create_time=SOME_MOMENT + 3 * SECOND,
        )  # fmt: skip
        put_found(change, again)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    page = browser.get(f"/stories/{LOSS.id}/").text
    assert "<strong>2 of 2 lost allocations have a new place.</strong>" in page
    assert "does not, yet" not in page
