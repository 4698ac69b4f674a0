"""How many went which way in a stretch of time, as the leader tells it.

In: nothing. Out: the words of the ways, and the shape in which they are told. Counted by
`scheduler.broker`, and lost with the leader's memory.
"""

from scheduler.structs.wire import Wire

#: Seconds that are looked back.
MINUTE, FIVE_MINUTES, HOUR = 60, 300, 3_600
#: New ones, by where they went first: ready at once, behind another of their job, until a time.
NEW_READY, NEW_WAITING, NEW_DELAYED = "new-ready", "new-waiting", "new-delayed"
#: Those that had waited for room, wherever they went.
WOKEN = "woken"
#: From behind another of their job, and from a delay, to ready.
TURN, TIME = "waiting-ready", "delayed-ready"
TAKEN, HANDED_BACK = "ready-hand", "hand-back"
#: A plan was handed in; answered as it was planned, in part, or not at all.
PLAN, WHOLE, PART, FAILED_PLAN = "hand-plans", "plans-whole", "plans-part", "plans-failed"
MADE, BLOCKED, ENDED = "made", "blocked", "ended"
#: Groups of plans that the applier was given, and the plans in them.
WRITES, WRITTEN = "writes", "written"
#: Of a worker: seconds in which it held work, and plans it handed in.
HELD, PLANS = "held", "plans"
#: Steps that are on the way somewhere.
OTHER = "other"


class CountedTime(Wire, frozen=True):
    """What was counted within the last `seconds`: fewer than the stretch soon after the start."""

    stretch: int
    seconds: float
    counts: dict[str, float] = {}
