"""The times and limits of the leader (evaluations.md 13), all changeable by tests and settings."""

import msgspec

SECOND = 1_000_000_000


class LeaderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, unless a comment says otherwise."""

    nack_timeout: float = 60.0
    #: After this many deliveries an evaluation is failed.
    delivery_limit: int = 3
    #: So many evaluations of one write of the drainer are delivered together at most.
    drained_together: int = 128
    #: They wait so long for one of them that is held up behind another of its job.
    drained_wait: float = 1.0
    nack_first_delay: float = 1.0
    #: Times (deliveries - 1), from the second nack on.
    nack_later_delay: float = 20.0
    follow_up_baseline: float = 60.0
    follow_up_range: float = 300.0
    unblock_failed_interval: float = 60.0
    prune_interval: float = 300.0
    #: A worker process that says nothing for so long is lost.
    lost_worker_after: float = 5.0
    wake_again_after: float = 1.0
    #: A process that asked for work so recently, and was not sent away since, is awake.
    awake_after_asking: float = 1.0
    #: Worker processes that exist even when they have not said so yet.
    expected_workers: int = 1
    #: While workers take turns: for so long others wait for one that thinks.
    longest_turn: float = 1.0
    #: Lifecycle steps wait so long for a commit to ride in.
    leftover_after: float = 1.0

    def __post_init__(self) -> None:
        if self.nack_timeout < 0:
            raise ValueError("nack_timeout must not be negative")
