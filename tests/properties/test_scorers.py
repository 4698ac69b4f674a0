"""A scorer says the same of one node as of all, whatever was placed and stopped before."""

import math

from hypothesis import given
from hypothesis import strategies as st

from scheduler.engine.measure.ask import ask_of
from scheduler.engine.rank.affinity import NodeAffinity, affinities_of
from scheduler.engine.rank.anti_affinity import AntiAffinity
from scheduler.engine.rank.binpack import Fit
from scheduler.engine.rank.device_preference import DevicePreference
from scheduler.engine.rank.room import Room
from scheduler.engine.rank.spread import SpreadScores
from tests.properties.test_placement import STRANGER, allocations, jobs, nodes
from tests.scheduler.engine.scene import Scene

ALGORITHMS = st.sampled_from(["binpack", "spread"])
#: Whole numbers of weights, as requests and devices give them.
WEIGHTS = st.lists(
    st.tuples(st.integers(-100, 100), st.sampled_from([0, 50, 100])), min_size=9, max_size=9
)


def agree(scorer, present, tolerance=0.0):
    """Every row that holds a node, one by one and in the column."""
    column = scorer.column().tolist()
    assert len(column) == present.size
    for row in present.nonzero()[0].tolist():
        alone = scorer.row(row)
        if alone is None or math.isnan(alone):
            assert math.isnan(column[row])
        else:
            assert abs(alone - column[row]) <= tolerance


@given(data=st.data(), cluster=nodes(), job=jobs(), algorithm=ALGORITHMS, weights=WEIGHTS)
def test_row_and_column_agree(data, cluster, job, algorithm, weights):
    scene = Scene(cluster, job, data.draw(allocations(cluster, job)), others=[STRANGER])
    for _ in range(data.draw(st.integers(0, 3))):
        scene.place()
    context, table, group = scene.context, scene.context.table, scene.group
    room = Room(context, ask_of(group, oversubscription=False), table.present)
    for row, (matched, total) in zip(range(table.row_count), weights, strict=False):
        room.device_matched[row], room.device_total[row] = matched, total
    # The powers of columns and of single numbers differ in their last bits.
    agree(Fit(table, room, algorithm), table.present, tolerance=1e-12)
    agree(DevicePreference(room), table.present)
    agree(AntiAffinity(context.group_counts(group.name), group.count or 1), table.present)
    wishes = NodeAffinity(table, affinities_of(job, group), context.matcher)
    agree(wishes, table.present)
    if group.spreads:
        spreads = SpreadScores(context, job, group)
        spreads.refresh(table.present)
        agree(spreads, table.present)
