"""The list of evaluations: newest first, by state, trigger, job and beginning of the id.

In: a reader and an EvaluationFilter. Out: the context of `evaluations.html`, one page of rows.
Quasi-statuses can be asked for as well; those are found among the pending ones by their steps.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from cluster.jobspec.names import LONGEST_NAME
from cluster.store.ports import Listing, RecordReader
from dashboard.graphs.lifecycle import STATE_OF
from dashboard.outcomes import short_outcome
from dashboard.queries.progress import state_of, took
from dashboard.viewer import Viewer
from dashboard.wording import count_of, number
from scheduler.state import nouns
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation, LifecycleStep

PAGE_SIZE = 50
STORED = tuple(status.value for status in EvalStatus)
QUASI = ("delayed", "scheduling", "applying")
COLLECTED = "deleted"
#: What the list can be narrowed to.
STATES = ("pending", *QUASI, "blocked", "complete", "failed", "canceled", COLLECTED)


class EvaluationFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" means any."""

    status: str = ""
    trigger: str = ""
    job: str = ""
    namespace: str = ""
    prefix: str = ""
    #: `<create index>.<id>` of the first row.
    after: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "EvaluationFilter":
        """From the address; a status that does not exist is as good as none."""
        status = query.get("status", "")
        return cls(
            status=status if status in (*STORED, *QUASI, COLLECTED) else "",
            trigger=query.get("trigger", "")[:100],
            job=query.get("job", "")[:LONGEST_NAME],
            namespace=query.get("namespace", "")[:200],
            prefix=query.get("prefix", "")[:36].lower(),
            after=query.get("after", "")[:80],
        )

    @property
    def narrows(self) -> bool:
        """Whether rows are left out."""
        return bool(self.status or self.trigger or self.job or self.namespace or self.prefix)

    @property
    def matches(self) -> list[tuple[str, str]]:
        """What a row of the list must say, by the names of its data attributes."""
        where = "passing" if self.status in QUASI else "status"
        pairs = [(where, self.status), ("trigger", self.trigger), ("job", self.job)]
        pairs.append(("prefix", self.prefix))
        return [(name, value) for name, value in pairs if value]

    def address(self, **changes: str) -> str:
        """The list's address with these fields changed, from its first page on."""
        fields = {**msgspec.structs.asdict(self), "after": "", **changes}
        return "/evaluations/?" + urlencode({key: value for key, value in fields.items() if value})

    def cursor(self) -> tuple[int, str] | tuple[()]:
        """Where the page begins."""
        index, _, eval_id = self.after.partition(".")
        return (int(index), eval_id) if index.isdecimal() and len(index) < 19 else ()


def evaluations_page(
    reader: RecordReader, viewer: Viewer, *, wanted: EvaluationFilter
) -> dict[str, Any]:
    """The context of the page, in six reads."""
    namespaces = _namespaces(viewer, wanted.namespace)
    newest = reader.newest_steps_of_pending(namespaces)
    quasi = {key: STATE_OF.get(step.step, "pending") for key, step in newest.items()}
    if wanted.status in QUASI:
        found = _in_quasi_status(reader, quasi, wanted, namespaces)
    elif wanted.status == COLLECTED:
        found = _collected(reader, wanted, namespaces)
    else:
        found = reader.page(nouns.EVALUATIONS, _listing(wanted, namespaces))
    more = found[PAGE_SIZE] if len(found) > PAGE_SIZE else None
    is_later = wanted.after or wanted.status == COLLECTED
    texts = evaluation_texts(reader.evaluation_tally(namespaces), quasi.values())
    return {
        "wanted": wanted,
        "rows": evaluation_rows(reader, found[:PAGE_SIZE], viewer.now),
        "next_url": wanted.address(after=f"{more.create_index}.{more.id}") if more else "",
        "first_url": wanted.address() if wanted.after else "",
        "states": _states(wanted, texts),
        "triggers": [trigger.value for trigger in EvalTrigger],
        "told": texts[evaluation_fact("all")],
        # New rows do not belong on a later page, whose rows stay current; a stub makes no event.
        "body_id": "some-rows" if is_later else "evaluation-rows",
        "matches": wanted.matches,
        "older_url": wanted.address(),
        "live_topics": f"evaluations:{wanted.namespace or '*'}",
        "tabs": evaluation_tabs("/evaluations/"),
    }


def evaluation_tabs(current: str) -> list[dict[str, Any]]:
    """What is told by its cause, and every evaluation by itself."""
    views = (("/stories/", "Stories"), ("/evaluations/", "Every evaluation"))
    return [{"word": word, "url": url, "is_current": url == current} for url, word in views]


def evaluation_rows(
    reader: RecordReader, shown: Sequence[Evaluation], now: int
) -> list[dict[str, Any]]:
    """The rows of a list, with what their newest steps say, in one read."""
    newest = reader.newest_steps_of([item.id for item in shown])
    return [row_context(item, now, newest.get(item.id)) for item in shown]


def row_context(
    evaluation: Evaluation, now: int, newest: LifecycleStep | None = None
) -> dict[str, Any]:
    """One row, the same on the page and in a frame, which may not know the newest step."""
    return {
        "evaluation": evaluation,
        "state": state_of(evaluation, newest, now),
        "outcome": short_outcome(evaluation),
        "took": took(evaluation, newest),
    }


def _namespaces(viewer: Viewer, asked: str) -> frozenset[str] | None:
    if not asked:
        return viewer.namespaces
    return frozenset({asked}) if viewer.sees(asked) else frozenset()


def _listing(wanted: EvaluationFilter, namespaces: frozenset[str] | None) -> Listing:
    equals = {"status": wanted.status, "triggered_by": wanted.trigger, "job_id": wanted.job}
    return Listing(
        prefix=wanted.prefix,
        namespaces=namespaces,
        after=wanted.cursor(),
        equals={column: value for column, value in equals.items() if value},
        limit=PAGE_SIZE,
        reverse=True,
    )


def _in_quasi_status(
    reader: RecordReader,
    quasi: Mapping[str, str],
    wanted: EvaluationFilter,
    namespaces: frozenset[str] | None,
) -> list[Evaluation]:
    found = [
        item
        for item in reader.open_evaluations()
        if quasi.get(item.id) == wanted.status
        and (namespaces is None or item.namespace in namespaces)
        and (not wanted.trigger or item.triggered_by == wanted.trigger)
        and (not wanted.job or item.job_id == wanted.job)
        and item.id.startswith(wanted.prefix)
    ]
    cursor = wanted.cursor()
    newest = sorted(found, key=lambda item: (item.create_index, item.id), reverse=True)
    return [item for item in newest if not cursor or (item.create_index, item.id) <= cursor]


def _collected(
    reader: RecordReader, wanted: EvaluationFilter, namespaces: frozenset[str] | None
) -> list[Evaluation]:
    without = msgspec.structs.replace(wanted, status="")
    return reader.page(nouns.EVALUATION_STUBS, _listing(without, namespaces))


def evaluation_texts(counts: Mapping[str, int], passing: Iterable[str]) -> dict[str, str]:
    """How many there are in all and in each state, by the names of their facts.

    In: evaluations by stored status, and the quasi-statuses that pending ones pass.
    """
    passed = Counter(passing)
    shown = {state: passed[state] if state in QUASI else counts.get(state, 0) for state in STATES}
    texts = {evaluation_fact(state): number(n) if n else "" for state, n in shown.items()}
    total = sum(counts.get(status, 0) for status in STORED)
    return {evaluation_fact("all"): count_of(total, "evaluation"), **texts}


def evaluation_fact(state: str) -> str:
    """The name under which a frame brings the count of a state."""
    return f"evaluations-{state}"


def _states(wanted: EvaluationFilter, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """One choice per state, with its count."""
    choices: list[dict[str, Any]] = [
        {"word": "all", "url": wanted.address(status=""), "is_current": not wanted.status}
    ]
    choices += [
        {
            "word": "collected" if state == COLLECTED else state,
            "fact": evaluation_fact(state),
            "text": texts[evaluation_fact(state)],
            "url": wanted.address(status=state),
            "is_current": wanted.status == state,
        }
        for state in STATES
    ]
    return choices
