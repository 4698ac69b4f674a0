"""What the operator sets of the applier: when nodes that plans are refused for are closed."""

from cluster.api.server_facts import _config
from cluster.runtime.plan_drainer import rejection_settings
from scheduler.rejected_nodes import RejectedNodes, RejectionSettings


def test_the_tracker_is_on_with_the_values_of_an_agent():
    assert rejection_settings() == RejectionSettings(
        enabled=True, threshold=100, window=300, largest_share=0.1
    )


def test_the_tracker_is_what_the_operator_sets_and_the_server_says_so(settings):
    settings.BIVOUAC_PLAN_REJECTION_THRESHOLD = 2
    settings.BIVOUAC_PLAN_REJECTION_WINDOW = 1.5
    tracker = RejectedNodes(rejection_settings())

    assert [tracker.add("n", at) for at in (0.0, 1.5, 3.1, 3.2)] == [False, True, False, True]
    assert _config()["Server"]["PlanRejectionTracker"] == {
        "Enabled": True,
        "NodeThreshold": 2,
        "NodeWindow": 1_500_000_000,
    }


def test_the_tracker_can_be_off(settings):
    settings.BIVOUAC_PLAN_REJECTION_TRACKER = False
    settings.BIVOUAC_PLAN_REJECTION_THRESHOLD = 1

    assert not RejectedNodes(rejection_settings()).add("n", 0.0)
