"""`manage.py audit`: who did what, from the record."""

import re
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.core.management.base import CommandError, CommandParser

from cluster.management.terminal import CommandWithExamples
from cluster.runtime.clock import SystemClock
from cluster.store.access import close_the_store, the_store
from cluster.store.audit import AuditFilter, newest_place, read_audit
from cluster.store.audit_entries import DOORS, RESULTS, AuditEntry

_S = 1_000_000_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_AGE = re.compile(r"(\d{1,9})([smhd])\Z")
_AT_ONCE = 500
_LOOK_EVERY_S = 1.0
_EXAMPLES = """
Prints one act per line, newest first; with --json one object per line, its times in ns since 1970.
Acts of the cluster itself and routine reports of agents are not in the audit; refusals are.

  manage.py audit --since 1h --result refused
  manage.py audit --who kim --act "stop job" --json
  manage.py audit --follow
"""


class Command(CommandWithExamples):
    """Prints the audit."""

    help = f"Print who did what, from where, with which result.\n{_EXAMPLES}"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the filters."""
        parser.add_argument("--json", action="store_true", help="one JSON object per line")
        parser.add_argument(
            "--since",
            default="",
            help="an age (90s, 15m, 2h, 7d) or an instant (2026-11-22T14:00)",
        )
        parser.add_argument("--until", default="", help="the same: only acts before it")
        parser.add_argument(
            "--who", default="", help="a name, an id, or person, token, agent, ..."
        )
        parser.add_argument("--act", default="", help='how an act begins, such as "stop job"')
        parser.add_argument("--result", default="", choices=["", *RESULTS], metavar="RESULT",
                            help=", ".join(RESULTS))  # fmt: skip
        parser.add_argument("--door", default="", choices=["", *DOORS], metavar="DOOR",
                            help=", ".join(DOORS))  # fmt: skip
        parser.add_argument("--text", default="", help="somewhere in names, targets, addresses")
        parser.add_argument("--limit", type=_limit, default=0, help="at most so many; 0: all")
        parser.add_argument(
            "--follow", action="store_true", help="go on with new ones; Ctrl-C ends"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print, and go on if asked to."""
        now = SystemClock().now()
        wanted = AuditFilter(
            who=options["who"],
            act=options["act"],
            result=options["result"],
            door=options["door"],
            text=options["text"],
            since=_instant(options["since"], "--since", now),
            until=_instant(options["until"], "--until", now),
        )
        told = _as_json if options["json"] else _as_line
        try:
            if options["follow"]:
                self._follow(wanted, told)
            for number, entry in enumerate(_entries(wanted)):
                if options["limit"] and number >= options["limit"]:
                    break
                self.stdout.write(told(entry))
        except (KeyboardInterrupt, BrokenPipeError):
            return
        finally:
            close_the_store()

    def _follow(self, wanted: AuditFilter, told: Any) -> None:
        """Print what comes, oldest first, until interrupted."""
        place = newest_place(the_store())
        while True:
            newest = newest_place(the_store())
            if newest > place:
                fresh = list(_entries(msgspec.structs.replace(wanted, above=place)))
                for entry in reversed(fresh):
                    self.stdout.write(told(entry))
                self.stdout.flush()
                place = max(newest, *(entry.id for entry in fresh), 0)
            time.sleep(_LOOK_EVERY_S)


def _entries(wanted: AuditFilter) -> Iterator[AuditEntry]:
    """All that fit, newest first, read a part at a time."""
    while True:
        page = read_audit(the_store(), wanted, limit=_AT_ONCE)
        yield from page.rows
        if not page.next_below:
            return
        wanted = msgspec.structs.replace(wanted, below=page.next_below)


def _instant(text: str, option: str, now: int) -> int:
    """An age or an instant as ns since 1970; 0 for none."""
    if not text:
        return 0
    if age := _AGE.match(text):
        return _kept(now - int(age[1]) * _UNITS[age[2]] * _S)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(
            f"{option} {text!r} is neither an age such as 90s, 15m, 2h, 7d"
            " nor an instant such as 2026-11-22T14:00 (UTC unless it says otherwise)"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _kept(int(moment.timestamp()) * _S)


def _kept(instant: int) -> int:
    """The nearest instant that a column can hold; never 0, which is none."""
    return min(max(instant, 1), 2**63 - 1)


def _limit(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError("at least 0")
    return int(text)


def _as_json(entry: AuditEntry) -> str:
    return msgspec.json.encode(entry).decode()


def _as_line(entry: AuditEntry) -> str:
    when = datetime.fromtimestamp(entry.at / _S, UTC).isoformat(timespec="milliseconds")
    who = entry.who_name or entry.who_id[:8] or entry.who_kind
    target = f" {entry.target_id}" if entry.target_id else ""
    place = f" in {entry.namespace}" if entry.namespace not in ("", "default") else ""
    more = [
        entry.reason,
        f"needs {entry.missing_right}" if entry.missing_right else "",
        f"{entry.count} alike" if entry.count > 1 else "",
        f"index {entry.made_index}" if entry.made_index else "",
    ]
    told = "; ".join(part for part in more if part)
    origin = f" from {entry.address}" if entry.address else ""
    return (
        f"{when.replace('+00:00', 'Z')}  {entry.result:7}  {who} ({entry.who_kind})"
        f"  {entry.act}{target}{place}{f'  [{told}]' if told else ''}  by {entry.door}{origin}"
    )
