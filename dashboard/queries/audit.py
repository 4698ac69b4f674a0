"""The page of the audit: which acts are asked for, and what is said of them.

In: the address, a page of rows and sums of the last hour. Out: the context of `audit.html`. Links
lead only to what an entry names; whether it is still there is the other page's to say.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from django.utils.translation import gettext, gettext_noop, ngettext

from cluster.page_addresses import job_url
from cluster.store.audit import AuditFilter, AuditPage, AuditSums
from cluster.store.audit_entries import DOORS, FAILED, REFUSED, RESULTS, AuditEntry
from dashboard.labels import label_for
from dashboard.wording import count_of, full_time, number, short_id
from scheduler.structs.identity import JobKey

PAGE_SIZE = 50
_S = 1_000_000_000
HOUR = 3600 * _S
#: When, by its word in the address: what people read, and how long ago it began, s.
TIMES = {
    "hour": (gettext_noop("last hour"), 3600),
    "day": (gettext_noop("last 24 hours"), 86_400),
    "week": (gettext_noop("last 7 days"), 604_800),
}
BETWEEN = "between"
WHO = {
    "person": gettext_noop("people"),
    "token": gettext_noop("tokens"),
    "agent": gettext_noop("agents"),
    "command": gettext_noop("commands"),
    "nobody": gettext_noop("unknown callers"),
}
DOOR_WORDS = {**dict(zip(DOORS, DOORS, strict=True)), "api": "API"}
#: What is offered to be looked for; any other beginning of an act can be typed.
ACTS = (
    "register job", "stop job", "purge job", "evaluate job", "stop allocation",
    "restart allocation", "promote deployment", "fail deployment", "drain node", "cancel drain",
    "open node", "close node", "purge node", "join", "sign in", "sign out", "write", "delete",
    "read",
)  # fmt: skip
_ADDRESSES = {
    "allocation": "/allocations/{}/",
    "node": "/nodes/{}/",
    "deployment": "/deployments/{}/",
    "evaluation": "/evaluations/{}/",
    "rehearsal": "/what-if/{}/",
}
_LONGEST = 128


class AuditQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" means any."""

    who: str = ""
    act: str = ""
    result: str = ""
    door: str = ""
    q: str = ""
    when: str = ""
    #: As a browser's field of date and time says it, in UTC; used when `when` is `between`.
    since: str = ""
    until: str = ""
    #: The place below which the page begins.
    below: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "AuditQuestion":
        """From the address; a word that is no choice is as good as none."""
        fields = {name: query.get(name, "").strip()[:_LONGEST] for name in cls.__struct_fields__}
        for name, known in (("result", RESULTS), ("door", DOORS), ("when", (*TIMES, BETWEEN))):
            if fields[name] not in known:
                fields[name] = ""
        return cls(**fields)

    @property
    def narrows(self) -> bool:
        """Whether rows are left out."""
        fields = msgspec.structs.replace(self, below="", since="", until="")
        return fields != AuditQuestion()

    def address(self, page: str = "/audit/", **changes: str) -> str:
        """The address with these fields changed, from its first page on."""
        fields = {**msgspec.structs.asdict(self), "below": "", **changes}
        given = {name: text for name, text in fields.items() if text}
        return f"{page}?{urlencode(given)}" if given else page

    def filter(self, now: int) -> AuditFilter:
        """What the store is asked."""
        since, until = _moment(self.since), _moment(self.until)
        if self.when != BETWEEN:
            since, until = (now - TIMES[self.when][1] * _S if self.when else 0), 0
        return AuditFilter(
            who=self.who,
            act=self.act,
            result=self.result,
            door=self.door,
            text=self.q,
            since=since,
            until=until,
            below=int(self.below) if self.below.isdecimal() and len(self.below) < 19 else 0,
        )


def audit_context(
    asked: AuditQuestion, page: AuditPage, sums: AuditSums, *, keep_days: float, now: int
) -> dict[str, Any]:
    """The context of the page; `sums` are of the last hour."""
    newest = str(page.rows[0].id if page.rows else 0)
    return {
        "asked": asked,
        "rows": [row_context(entry) for entry in page.rows],
        "next_url": asked.address(below=str(page.next_below)) if page.next_below else "",
        "first_url": asked.address() if asked.below else "",
        "ended_early": page.ended_early,
        "newer_url": asked.address("/audit/newer", above=newest),
        "json_url": asked.address("/audit.json"),
        "refused_url": AuditQuestion(result=REFUSED, when="hour").address(),
        "failed_url": AuditQuestion(result=FAILED, when="hour").address(),
        "hour_url": AuditQuestion(when="hour").address(),
        "people": _choices({key: gettext(word) for key, word in WHO.items()}, asked.who),
        "results": [(word, label_for("result", word).word) for word in RESULTS],
        "doors": DOOR_WORDS,
        "times": {word: gettext(told) for word, (told, _) in TIMES.items()}
        | {BETWEEN: gettext("between…")},
        "acts": ACTS,
        **_told(sums, keep_days, now),
    }


def row_context(entry: AuditEntry) -> dict[str, Any]:
    """What a row shows of an entry."""
    # Agents have no name but their node's id.
    has_name = entry.who_name and entry.who_name != entry.who_id
    who = entry.who_name if has_name else short_id(entry.who_id) if entry.who_id else ""
    unknown = "unknown" if entry.who_kind == "nobody" else entry.who_kind
    return {
        "entry": entry,
        "day": full_time(entry.at).rpartition(" ")[0].rpartition(" ")[0],
        "who": who or unknown,
        "who_url": AuditQuestion(who=entry.who_name or entry.who_id or entry.who_kind).address(),
        "kind": "" if entry.who_kind in ("person", "nobody") else entry.who_kind,
        "target": _shown_target(entry),
        "target_url": _target_url(entry),
        "door": DOOR_WORDS.get(entry.door, entry.door),
        "more": _more(entry),
    }


def _told(sums: AuditSums, keep_days: float, now: int) -> dict[str, Any]:
    refused, failed = sums.by_result.get(REFUSED, 0), sums.by_result.get(FAILED, 0)
    total = sum(sums.by_result.values())
    address, times = sums.loudest
    where = (
        gettext("{times} of them came from {address}.").format(
            times=number(times), address=address
        )
        if address and 1 < times <= refused
        else ""
    )
    if not total:
        sentence = gettext("Nothing was asked for in the last hour.")
    elif not refused:
        acts = count_of(total, "{count} act", "{count} acts")
        sentence = gettext("None of {acts} in the last hour was refused.").format(acts=acts)
    else:
        sentence = ngettext(
            "{refused} of {acts} in the last hour was refused.",
            "{refused} of {acts} in the last hour were refused.",
            refused,
        ).format(refused=number(refused), acts=count_of(total, "{count} act", "{count} acts"))
    return {
        "sentence": sentence,
        "rest": where,
        "failed_told": gettext("{act} could not be done.").format(
            act=count_of(failed, "{count} act", "{count} acts")
        )
        if failed
        else "",
        "total": number(total),
        "refused": number(refused),
        "failed": number(failed),
        "loudest": gettext("{times} from {address}").format(times=number(times), address=address)
        if address and refused
        else "",
        "keep_days": f"{keep_days:g}",
        "oldest": sums.oldest,
        "now": now,
    }


def _more(entry: AuditEntry) -> str:
    """The line below an act: why not, how often, at which index."""
    parts = [
        entry.reason,
        gettext("needs {missing_right}").format(missing_right=entry.missing_right)
        if entry.missing_right
        else "",
        gettext("{count} more within a minute").format(count=number(entry.count - 1))
        if entry.count > 1
        else "",
        gettext("index {made_index}").format(made_index=number(entry.made_index))
        if entry.made_index
        else "",
    ]
    return "; ".join(part for part in parts if part)


def _shown_target(entry: AuditEntry) -> str:
    if entry.target_kind in ("allocation", "evaluation", "deployment", "node", "rehearsal"):
        return short_id(entry.target_id)
    return entry.target_id


def _target_url(entry: AuditEntry) -> str:
    if not entry.target_id:
        return ""
    if entry.target_kind == "job":
        return job_url(JobKey(entry.namespace, entry.target_id))
    address = _ADDRESSES.get(entry.target_kind, "")
    return address.format(quote(entry.target_id, safe="")) if address else ""


def _choices(words: Mapping[str, str], chosen: str) -> dict[str, str]:
    """The choices, with one more for a name that came from a row."""
    return {**words, chosen: chosen} if chosen and chosen not in words else dict(words)


def _moment(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()) * _S
