"""The state machine of an evaluation as drawn: where states stand, which way arrows run.

The one table behind the lifecycle map and the path of one evaluation (evaluations.md 3.1, ui.md
6.8). Solid arrows move the same evaluation on; dashed ones make a new evaluation and meet on the
bus below.
"""

from typing import NamedTuple

VIEW = (0.0, 12.0, 1160.0, 402.0)
EVENT = "event"


class Place(NamedTuple):
    """Where a state is drawn."""

    x: float
    y: float
    width: float
    is_quasi: bool = False


HEIGHT = 48.0
EVENT_PLACE = (52.0, 210.0, 44.0)

PLACES: dict[str, Place] = {
    "pending": Place(154, 186, 144),
    "delayed": Place(284, 298, 144, is_quasi=True),
    "scheduling": Place(398, 186, 156, is_quasi=True),
    "applying": Place(644, 186, 144, is_quasi=True),
    "blocked": Place(404, 68, 144),
    "canceled": Place(826, 68, 168),
    "complete": Place(826, 186, 168),
    "failed": Place(826, 298, 168),
    "deleted": Place(1022, 186, 132, is_quasi=True),
}


class Spot(NamedTuple):
    """Where a label stands beside its arrow."""

    x: float
    y: float
    anchor: str = "middle"


class Arrow(NamedTuple):
    """One transition. `words` name it on the map, one line each; a path writes its own."""

    source: str
    target: str
    line: str
    words: tuple[str, ...] = ()
    spot: Spot = Spot(0, 0)
    #: Where the first step number stands; further ones follow to the right.
    disc: tuple[float, float] = (0, 0)
    kind: str = "step"
    #: What Mermaid writes when the map has no words.
    meaning: str = ""

    @property
    def key(self) -> str:
        """`source-target`; arrows that make a new evaluation add the first of their triggers."""
        name = f"{self.source}-{self.target}"
        return f"{name}-{self.words[0]}" if self.kind == "new" else name


ARROWS: tuple[Arrow, ...] = (
    Arrow(EVENT, "pending", "M96 210H152", spot=Spot(124, 200), disc=(124, 226), meaning="event"),
    Arrow(
        EVENT,
        "blocked",
        "M76 173C118 106 250 92 402 92",
        spot=Spot(236, 96),
        disc=(300, 95),
        meaning="made blocked",
    ),
    Arrow("pending", "scheduling", "M298 210H396", ("dequeued",), Spot(350, 201), (350, 226)),
    Arrow(
        "pending",
        "delayed",
        "M210 234C210 290 236 322 282 322",
        ("must wait",),
        Spot(218, 310, "end"),
        (222, 278),
    ),
    Arrow(
        "delayed",
        "scheduling",
        "M368 298C376 268 392 250 418 230",
        ("time is up",),
        Spot(374, 264, "end"),
        (386, 258),
    ),
    Arrow(
        "scheduling",
        "delayed",
        "M464 234C464 292 456 320 430 322",
        ("handed back",),
        Spot(456, 287, "end"),
        (464, 262),
    ),
    Arrow("scheduling", "applying", "M554 202H642", ("plan",), Spot(595, 193), (584, 173)),
    Arrow("applying", "scheduling", "M644 219H556", ("answer",), Spot(597, 237), (584, 240)),
    Arrow(
        "scheduling",
        "complete",
        "M530 194C564 150 604 146 668 146H760C800 146 826 160 846 184",
        ("finished",),
        Spot(716, 150),
        (800, 156),
    ),
    Arrow(
        "scheduling",
        "failed",
        "M536 226C584 300 654 322 756 322H824",
        ("attempts used up",),
        Spot(634, 308),
        (780, 322),
    ),
    Arrow(
        "scheduling",
        "blocked",
        "M496 186V118",
        ("no room again",),
        Spot(513, 131, "start"),
        (496, 138),
    ),
    Arrow(
        "blocked",
        "scheduling",
        "M508 116V184",
        ("unblocked",),
        Spot(517, 145, "start"),
        (508, 164),
    ),
    Arrow(
        "blocked",
        "canceled",
        "M548 92H824",
        ("superseded, or job fully placed",),
        Spot(686, 96),
        (790, 92),
    ),
    Arrow(
        "pending",
        "canceled",
        "M226 186V44Q226 24 246 24H886Q906 24 906 44V66",
        ("superseded while queued",),
        Spot(573, 28),
        (226, 120),
    ),
    Arrow(
        "pending",
        "complete",
        "M250 186V52Q250 38 264 38H790Q808 38 808 56V190Q808 202 824 202",
        ("job purged",),
        Spot(330, 42),
        (250, 120),
    ),
    Arrow(
        "canceled",
        "deleted",
        "M986 92C1050 92 1084 124 1084 184",
        disc=(1052, 108),
        meaning="collected",
    ),
    Arrow("complete", "deleted", "M986 210H1020", disc=(1003, 226), meaning="collected"),
    Arrow(
        "failed",
        "deleted",
        "M986 322C1050 322 1084 292 1084 236",
        ("garbage collection",),
        Spot(1078, 268),
        (1052, 306),
    ),
    Arrow(
        "scheduling",
        "blocked",
        "M448 186V118",
        ("queued-allocs", "max-plan-attempts"),
        Spot(438, 148, "end"),
        (448, 138),
        "new",
    ),
    Arrow(
        "scheduling",
        "pending",
        "M504 234V380Q504 400 484 400",
        ("rolling-update",),
        Spot(512, 374, "start"),
        (504, 350),
        "new",
    ),
    Arrow(
        "applying",
        "pending",
        "M716 234V380Q716 400 696 400",
        ("preemption",),
        Spot(724, 374, "start"),
        (716, 350),
        "new",
    ),
    Arrow(
        "complete",
        "pending",
        "M826 222C808 226 800 240 800 262V380Q800 400 780 400",
        ("deployment-watcher",),
        Spot(808, 374, "start"),
        (800, 350),
        "new",
    ),
    Arrow(
        "failed",
        "pending",
        "M954 346V380Q954 400 934 400H246Q226 400 226 380V236",
        ("failed-follow-up",),
        Spot(962, 374, "start"),
        (954, 360),
        "new",
    ),
)

#: Drawn only when taken: rare, and they would crowd the map.
RARE = frozenset({"event-blocked", "pending-complete"})

#: The bus that all new evaluations share, drawn under the map with its name.
BUS = Spot(372, 404)

#: Which arrow a new evaluation leaves by, by its trigger.
NEW_BY_TRIGGER: dict[str, str] = {
    "queued-allocs": "scheduling-blocked-queued-allocs",
    "max-plan-attempts": "scheduling-blocked-queued-allocs",
    "rolling-update": "scheduling-pending-rolling-update",
    "alloc-failure": "scheduling-pending-rolling-update",
    "alloc-reschedule": "scheduling-pending-rolling-update",
    "preemption": "applying-pending-preemption",
    "deployment-watcher": "complete-pending-deployment-watcher",
    "failed-follow-up": "failed-pending-failed-follow-up",
}
