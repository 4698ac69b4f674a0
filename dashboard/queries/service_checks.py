"""What the checks of the services on one page of the list found, as agents tell it.

In: a reader, registrations, what the agents of their allocations told. Out: the context of
`_service_checks.html`: a word for each address, and a line for each check that does not pass.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext

from cluster.operations.checks import JobChecks
from cluster.store.ports import RecordReader
from dashboard.queries.checks import AnsweredCheck, answered_checks
from dashboard.queries.left_out import missing_told
from dashboard.wording import natural, number
from scheduler.structs.service_registration import ServiceRegistration

_RANKS = ("failure", "pending", "success")


class NotPassing(NamedTuple):
    """One check that does not pass, and where."""

    key: str
    alloc_id: str
    alloc_name: str
    found: AnsweredCheck


def service_checks(
    reader: RecordReader, services: Sequence[ServiceRegistration], told: JobChecks
) -> dict[str, Any]:
    """What is told of each address, and of all together."""
    answered = {key: answered_checks(found) for key, found in told.found.items()}
    of_each = {service.id: _of(service, answered) for service in services}
    every = [line for lines in of_each.values() for line in lines or ()]
    passing = sum(line.status == "success" for line in every)
    summed = gettext("{passing} of {count} pass").format(
        passing=number(passing), count=number(len(every))
    )
    return {
        "told": summed if every else "",
        "marks": [(key, _word(lines)) for key, lines in of_each.items()],
        "lines": list(_not_passing(reader, services, of_each)),
        "why_none": _why_none(told, passing) if len(every) == passing else "",
        "warnings": missing_told(reader, told),
    }


def joined(told: Iterable[JobChecks]) -> JobChecks:
    """What agents told of several namespaces, as one."""
    every = list(told)
    return JobChecks(
        found={key: found for each in every for key, found in each.found.items()},
        running=sum(each.running for each in every),
        asked=sum(each.asked for each in every),
        away=sum(each.away for each in every),
        away_nodes=tuple(dict.fromkeys(node for each in every for node in each.away_nodes)),
    )


def _of(
    service: ServiceRegistration, answered: Mapping[str, Sequence[AnsweredCheck]]
) -> list[AnsweredCheck] | None:
    """Its checks; None where its allocation was not told of."""
    lines = answered.get(service.alloc_id)
    if lines is None:
        return None
    return [line for line in lines if line.told.service == service.service_name]


def _word(lines: Sequence[AnsweredCheck] | None) -> str:
    if lines is None:
        return gettext("not known")
    if not lines:
        return gettext("none")
    counts = {rank: sum(line.status == rank for line in lines) for rank in _RANKS}
    if counts["failure"]:
        return gettext("{count} of {all} fail").format(
            count=number(counts["failure"]), all=number(len(lines))
        )
    if counts["pending"]:
        return gettext("not asked yet")
    return gettext("{count} of {all} pass").format(
        count=number(counts["success"]), all=number(len(lines))
    )


def _not_passing(
    reader: RecordReader,
    services: Sequence[ServiceRegistration],
    of_each: Mapping[str, Sequence[AnsweredCheck] | None],
) -> Iterator[NotPassing]:
    wrong = [
        (service, line)
        for service in services
        for line in of_each[service.id] or ()
        if line.status != "success"
    ]
    reader.preload(allocs={service.alloc_id for service, _ in wrong})
    lines = []
    for service, line in wrong:
        alloc = reader.allocation(service.alloc_id)
        name = alloc.name if alloc is not None else service.alloc_id
        # One allocation may offer one service at several addresses, with the checks of each.
        key = f"{service.alloc_id}/{line.told.task}/{line.told.service}/{line.told.check}"
        lines.append(NotPassing(key, service.alloc_id, name, line))
    unique = {each.key: each for each in lines}.values()
    return iter(
        sorted(
            unique, key=lambda each: (_RANKS.index(each.found.status), natural(each.alloc_name))
        )
    )


def _why_none(told: JobChecks, passing: int) -> str:
    if passing:
        return gettext("Every check of these passes.")
    if told.asked and told.away == told.asked:
        return gettext("No node of these answers.")
    return gettext("Nothing of these is checked, or no check was begun yet.")


def services_of_rows(rows: Mapping[str, Mapping[str, Any]]) -> list[ServiceRegistration]:
    """The registrations of a page of the list."""
    return [row["line"].service for row in rows.values()]
