"""Alike stories of a list are one row; none is lost, and what matters stays for itself."""

from random import Random  # noqa: TID251 - the same lists every time

import pytest

from dashboard.outcomes import OutcomeSentence
from dashboard.stories.folds import StoryFold, folded
from dashboard.stories.names import KINDS, title_of
from dashboard.stories.rows import StoryLine
from dashboard.stories.told import StoryFacts
from scheduler.structs.story import Story, StoryKind
from tests.builders import SECOND


def line(number, kind=StoryKind.LAUNCH, *, standing="done", running=False, **fields):
    story = Story(id=f"s{number}", kind=kind, namespace="default", create_index=number, **fields)
    names = {node_id: f"name of {node_id}" for node_id in story.node_ids}
    return StoryLine(
        story=story,
        title=title_of(story, names),
        kind=KINDS[kind],
        facts=StoryFacts(evaluations=2, is_running=running),
        standing=standing,
        outcome=OutcomeSentence(strong="Done"),
    )


def launches(count, start=0, **fields):
    return [
        line(start + n, job_id=f"cron/periodic-{n}", parent_job_id="cron", **fields)
        for n in reversed(range(count))
    ]


def shown(rows):
    return [row.title if isinstance(row, StoryFold) else row.story.id for row in rows]


def test_alike_ones_are_one_row_where_the_newest_stands():
    lines = [line(30, StoryKind.ROLLOUT, job_id="a"), *launches(20, 5), line(1, StoryKind.STOP)]
    rows, taken = folded(lines, 50)
    assert shown(rows) == ["s30", "20 launches of cron", "s1"]
    assert taken == len(lines)
    fold = rows[1]
    assert (fold.told, fold.evaluations, fold.first.story.id) == ("All are done", 40, "s24")
    assert dict(fold.query) == {"kind": "launch", "job": "default/cron", "who": ""}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(launches(2), id="two"),
        pytest.param([line(n, StoryKind.ROLLOUT, job_id="web") for n in range(5)], id="rollouts"),
        pytest.param(launches(5, running=True), id="running"),
        pytest.param(launches(5, standing="failed"), id="failed"),
        pytest.param([line(n, StoryKind.LOSS, node_count=200) for n in range(5)], id="losses"),
        pytest.param([line(n, StoryKind.STOP, job_id=f"j{n}") for n in range(5)], id="other-jobs"),
        pytest.param([line(n, StoryKind.SCALING, job_id="j", actor=f"a{n}") for n in range(4)],
                     id="other-people"),
    ],
)  # fmt: skip
def test_what_is_looked_for_by_itself_is_never_folded(lines):
    rows, _ = folded(lines, 50)
    assert not [row for row in rows if isinstance(row, StoryFold)]


def test_a_node_that_comes_and_goes_is_one_row():
    kinds = (StoryKind.LOSS, StoryKind.RETURN)
    lines = [line(n, kinds[n % 2], node_ids=("n1",), node_count=1) for n in reversed(range(5))]
    (fold,) = folded(lines, 50)[0]
    assert fold.title == "5 stories of name of n1, which comes and goes"
    assert fold.told == "Lost 3 times, back 2 times"


def test_nodes_that_change_within_a_minute_are_one_row_and_others_are_not():
    """As after a restart of the server, when every node says that it is there."""

    def changed(number, minute, node):
        return line(
            number, StoryKind.NODE_CHANGE, node_ids=(node,), node_count=1,
            create_time=minute * 60 * SECOND,
        )  # fmt: skip

    storm = [changed(100 - n, 7, f"n{n % 40}") for n in range(60)]
    lone = [changed(9 - n, 5, f"n{n}") for n in range(2)]
    rows, taken = folded([*storm, *lone], 50)
    assert shown(rows) == ["40 nodes changed within a minute", "s9", "s8"]
    assert taken == 62
    assert (rows[0].told, len(rows[0].lines)) == ("All are done", 60)
    assert dict(rows[0].query) == {"kind": "node-change", "each": "1"}
    again = [changed(n, n, "n1") for n in reversed(range(5))]
    assert shown(folded(again, 50)[0]) == ["5 changes of name of n1"]


@pytest.mark.parametrize("seed", range(20))
def test_a_page_holds_so_many_rows_and_says_where_the_next_begins(seed):
    chance = Random(seed)  # noqa: S311 - the same lists every time
    lines = [
        line(
            n,
            chance.choice((StoryKind.LAUNCH, StoryKind.STOP, StoryKind.ROLLOUT)),
            job_id=chance.choice("ab"),
            standing=chance.choice(("done", "failed")),
        )
        for n in reversed(range(120))
    ]
    left, seen = lines, []
    while left:
        rows, taken = folded(left, 10)
        assert 0 < len(rows) <= 10
        inside = [
            each.story.id
            for row in rows
            for each in (row.lines if isinstance(row, StoryFold) else (row,))
        ]
        assert sorted(inside) == sorted(each.story.id for each in left[:taken])
        seen += inside
        left = left[taken:]
    assert sorted(seen) == sorted(each.story.id for each in lines)
