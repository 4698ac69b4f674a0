"""The drawings of the documentation, made by the renderer that draws the pages' graphs.

Run as a program it writes them to `docs/drawings`; `tests/test_site.py` compares.
"""

from pathlib import Path

from dashboard.graphs.alone import standalone_svg
from dashboard.graphs.geometry import Graph
from dashboard.graphs.lifecycle import EvaluationLife, lifecycle_graph
from dashboard.graphs.lifecycle_map import lifecycle_map
from scheduler.structs.evaluation import LifecycleStep, Step

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "drawings"
_STYLES = ("tokens.css", "base.css", "graph.css")
_SECOND = 1_000_000_000
_START = 1_763_800_000 * _SECOND


def life(trigger: str, *steps: tuple[Step, float]) -> Graph:
    """The life of an evaluation that took these steps, each so many ms after the first."""
    told = tuple(
        LifecycleStep(eval_id="e", number=number, step=step, at=_START + int(ms * 1_000_000))
        for number, (step, ms) in enumerate(steps, start=1)
    )
    return lifecycle_graph(EvaluationLife(eval_id="e", trigger=trigger, steps=told))


def graphs() -> dict[str, Graph]:
    """Every drawing by the name of its file."""
    decided = [(Step.ENQUEUED, 0), (Step.DEQUEUED, 2), (Step.PLAN_SUBMITTED, 9)]
    decided += [(Step.PLAN_ANSWERED, 15)]
    woken = [(Step.BLOCKED, 0), (Step.UNBLOCKED, 90_000), (Step.DEQUEUED, 90_003)]
    woken += [(Step.PLAN_SUBMITTED, 90_010), (Step.PLAN_ANSWERED, 90_018)]
    return {
        "states": lifecycle_map({}, {}),
        "decided": life("job-register", *decided, (Step.COMPLETE, 17)),
        "waiting": life("queued-allocs", *woken, (Step.COMPLETE, 90_021)),
    }


def drawings() -> dict[str, str]:
    """Every file by its name."""
    css = ROOT / "static" / "css"
    styles = [(css / name).read_text() for name in _STYLES]
    sprite = (ROOT / "static" / "img" / "icons.svg").read_text()
    return {
        f"{name}.svg": standalone_svg(graph, styles, sprite) for name, graph in graphs().items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawings().items():
        (FOLDER / name).write_text(text)
