"""The state machine of an evaluation as drawn: where states stand, which way arrows run.

The one table behind the lifecycle map and the path of one evaluation (evaluations.md 3.1, ui.md
2.8). Solid arrows move the same evaluation on; dashed ones make a new evaluation and meet on the
bus below.
"""

from functools import cache
from typing import NamedTuple

from dashboard.texts import gettext_noop

VIEW = (0.0, 12.0, 1228.0, 402.0)
EVENT = "event"


class StatePlace(NamedTuple):
    """Where a state is drawn."""

    x: float
    y: float
    width: float
    is_quasi: bool = False


HEIGHT = 48.0
EVENT_PLACE = (52.0, 210.0, 44.0)

PLACES: dict[str, StatePlace] = {
    "pending": StatePlace(154, 186, 144),
    "delayed": StatePlace(284, 298, 144, is_quasi=True),
    "scheduling": StatePlace(398, 186, 156, is_quasi=True),
    "applying": StatePlace(644, 186, 144, is_quasi=True),
    "blocked": StatePlace(404, 68, 144),
    "canceled": StatePlace(826, 68, 184),
    "complete": StatePlace(826, 186, 184),
    "failed": StatePlace(826, 298, 184),
    "deleted": StatePlace(1046, 186, 172, is_quasi=True),
}


class LabelSpot(NamedTuple):
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
    spot: LabelSpot = LabelSpot(0, 0)
    #: Where the first step number stands.
    disc: tuple[float, float] = (0, 0)
    kind: str = "step"
    #: What Mermaid writes when the map has no words.
    meaning: str = ""
    #: From one step number to the next, so that none covers a label.
    disc_pitch: tuple[float, float] = (24, 0)

    @property
    def key(self) -> str:
        """`source-target`; arrows that make a new evaluation add the first of their triggers."""
        name = f"{self.source}-{self.target}"
        return f"{name}-{self.words[0]}" if self.kind == "new" else name


ARROWS: tuple[Arrow, ...] = (
    Arrow(
        EVENT,
        "pending",
        "M96 210H152",
        spot=LabelSpot(124, 200),
        disc=(124, 226),
        meaning=gettext_noop("event"),
    ),
    Arrow(
        EVENT,
        "blocked",
        "M76 173C118 106 250 92 402 92",
        spot=LabelSpot(236, 96),
        disc=(300, 95),
        meaning=gettext_noop("made blocked"),
    ),
    Arrow(
        "pending",
        "scheduling",
        "M298 210H396",
        (gettext_noop("dequeued"),),
        LabelSpot(350, 201),
        (350, 226),
    ),
    Arrow(
        "pending",
        "delayed",
        "M210 234C210 290 236 322 282 322",
        (gettext_noop("must wait"),),
        LabelSpot(218, 310, "end"),
        (222, 278),
    ),
    Arrow(
        "delayed",
        "pending",
        "M300 298C296 270 288 254 276 236",
        (gettext_noop("time is up"),),
        LabelSpot(308, 266, "start"),
        (284, 252),
        disc_pitch=(4, 17),
    ),
    Arrow(
        "scheduling",
        "pending",
        "M412 234C402 258 298 258 286 236",
        disc=(378, 248),
        meaning=gettext_noop("handed back at once"),
    ),
    Arrow(
        "scheduling",
        "delayed",
        "M464 234C464 292 456 320 430 322",
        (gettext_noop("handed back"),),
        LabelSpot(456, 287, "end"),
        (464, 262),
    ),
    Arrow(
        "scheduling",
        "applying",
        "M554 202H642",
        (gettext_noop("plan"),),
        LabelSpot(595, 193),
        (584, 173),
    ),
    Arrow(
        "applying",
        "scheduling",
        "M644 219H556",
        (gettext_noop("answer"),),
        LabelSpot(597, 237),
        (584, 240),
    ),
    Arrow(
        "scheduling",
        "complete",
        "M530 194C564 150 604 146 668 146H760C800 146 826 160 846 184",
        (gettext_noop("finished"),),
        LabelSpot(716, 150),
        (800, 156),
    ),
    Arrow(
        "scheduling",
        "failed",
        "M536 226C584 300 654 322 756 322H824",
        (gettext_noop("attempts used up"),),
        LabelSpot(634, 308),
        (780, 322),
    ),
    Arrow(
        "scheduling",
        "blocked",
        "M462 186V118",
        (gettext_noop("no room again"),),
        LabelSpot(507, 131, "start"),
        (462, 136),
        disc_pitch=(0, 20),
    ),
    Arrow(
        "blocked",
        "scheduling",
        "M492 116V184",
        (gettext_noop("unblocked"),),
        LabelSpot(507, 147, "start"),
        (492, 136),
        disc_pitch=(0, 20),
    ),
    Arrow(
        "blocked",
        "canceled",
        "M548 92H824",
        (gettext_noop("superseded, or job fully placed"),),
        LabelSpot(686, 96),
        (790, 92),
    ),
    Arrow(
        "pending",
        "canceled",
        "M226 186V44Q226 24 246 24H886Q906 24 906 44V66",
        (gettext_noop("superseded while queued"),),
        LabelSpot(573, 28),
        (226, 120),
    ),
    Arrow(
        "pending",
        "complete",
        "M250 186V52Q250 38 264 38H790Q808 38 808 56V190Q808 202 824 202",
        (gettext_noop("job purged"),),
        LabelSpot(330, 42),
        (250, 120),
    ),
    Arrow(
        "canceled",
        "deleted",
        "M1010 92C1080 92 1132 124 1132 184",
        disc=(1097, 115),
        meaning=gettext_noop("collected"),
    ),
    Arrow(
        "complete",
        "deleted",
        "M1010 210H1044",
        disc=(1027, 228),
        meaning=gettext_noop("collected"),
    ),
    Arrow(
        "failed",
        "deleted",
        "M1010 322C1080 322 1132 292 1132 236",
        (gettext_noop("garbage collection"),),
        LabelSpot(1124, 270),
        (1088, 304),
    ),
    Arrow(
        "scheduling",
        "blocked",
        "M430 186V118",
        ("queued-allocs", "max-plan-attempts"),
        LabelSpot(416, 146, "end"),
        (430, 136),
        "new",
        disc_pitch=(0, 20),
    ),
    Arrow(
        "scheduling",
        "pending",
        "M504 234V380Q504 400 484 400",
        ("follow-up",),
        LabelSpot(512, 374, "start"),
        (504, 350),
        "new",
        disc_pitch=(0, -20),
    ),
    Arrow(
        "applying",
        "pending",
        "M716 234V380Q716 400 696 400",
        ("preemption",),
        LabelSpot(730, 356, "start"),
        (716, 350),
        "new",
        disc_pitch=(0, -20),
    ),
    Arrow(
        "complete",
        "pending",
        "M826 222C808 226 800 240 800 262V380Q800 400 780 400",
        ("deployment-watcher",),
        LabelSpot(808, 374, "start"),
        (800, 350),
        "new",
        disc_pitch=(0, -20),
    ),
    Arrow(
        "failed",
        "pending",
        "M954 346V380Q954 400 934 400H246Q226 400 226 380V236",
        ("failed-follow-up",),
        LabelSpot(966, 384, "start"),
        (954, 362),
        "new",
    ),
)

#: Drawn only when taken: rare, and they would crowd the map.
RARE = frozenset({"event-blocked", "pending-complete", "scheduling-pending"})

#: The bus that all new evaluations share, drawn under the map with its name.
BUS = LabelSpot(372, 404)

#: Which arrow a new evaluation leaves by, by its trigger.
NEW_BY_TRIGGER: dict[str, str] = {
    "queued-allocs": "scheduling-blocked-queued-allocs",
    "max-plan-attempts": "scheduling-blocked-queued-allocs",
    "max-disconnect-timeout": "scheduling-pending-follow-up",
    "rolling-update": "scheduling-pending-follow-up",
    "alloc-failure": "scheduling-pending-follow-up",
    "alloc-reschedule": "scheduling-pending-follow-up",
    "preemption": "applying-pending-preemption",
    "deployment-watcher": "complete-pending-deployment-watcher",
    "failed-follow-up": "failed-pending-failed-follow-up",
}

#: Where each arrow leads.
TARGET_OF: dict[str, str] = {arrow.key: arrow.target for arrow in ARROWS}

_STEPS_OF: dict[str, list[Arrow]] = {}
for _arrow in ARROWS:
    if _arrow.kind == "step":
        _STEPS_OF.setdefault(_arrow.source, []).append(_arrow)


@cache
def way(source: str, target: str) -> tuple[str, ...]:
    """The arrows that lead from one state to another, fewest first; () where none do.

    A step between them may be missing from a life: a process that died wrote none.
    """
    ways: list[tuple[str, tuple[str, ...]]] = [(source, ())]
    seen = {source}
    for state, passed in ways:
        for arrow in _STEPS_OF.get(state, ()):
            if arrow.target == target:
                return (*passed, arrow.key)
            if arrow.target not in seen and arrow.target in PLACES:
                seen.add(arrow.target)
                ways.append((arrow.target, (*passed, arrow.key)))
    return ()
