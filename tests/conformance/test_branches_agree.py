"""A branch of a record, driven by the same random writes as the record it left, reads alike."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from scheduler.errors import StaleSnapshot
from scheduler.state.branch_store import BranchStore
from scheduler.state.memory_store import MemoryStateStore
from tests.conformance.test_stores_agree import TwoStores, everything


class RecordAndBranch(TwoStores):
    """Where two branches part, both go the same way: the second by its own rows alone."""

    @initialize()
    def begin(self):
        memory = MemoryStateStore()
        self.stores = [memory, BranchStore(memory.snapshot())]

    def teardown(self):
        """Nothing was opened."""

    @rule()
    def part_again(self):
        memory = self.stores[0]
        self.stores[1] = BranchStore(memory.snapshot())

    @invariant()
    def frames_are_alike(self):
        if hasattr(self, "stores"):
            memory, branch = self.stores
            begin = branch.base.index
            assert list(branch.frames_since(begin)) == list(memory.frames_since(begin))
            with pytest.raises(StaleSnapshot):
                branch.frames_since(begin - 1)

    @invariant()
    def columns_are_alike(self):
        if hasattr(self, "stores"):
            memory, branch = (store.snapshot() for store in self.stores)
            assert _columns(branch.node_table) == _columns(memory.node_table)

    @invariant()
    def a_snapshot_stays(self):
        if hasattr(self, "stores"):
            seen = getattr(self, "seen", None)
            if seen is not None:
                assert everything(seen[0]) == seen[1]
            snapshot = self.stores[1].snapshot()
            self.seen = snapshot, everything(snapshot)


def _columns(table):
    rows = [(row, node) for row, node in enumerate(table.nodes) if node is not None]
    return sorted(
        (node.id, node, bool(table.ready[row]), table.cpu_used[row], table.memory_used[row])
        for row, node in rows
    )


def test_a_branch_and_its_record_agree():
    run_state_machine_as_test(
        RecordAndBranch,
        settings=settings(
            max_examples=30,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
