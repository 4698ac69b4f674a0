"""What is told of namespaces, node pools and quotas: sentences and meters, from counts.

In: counted jobs, nodes and room. Out: words, and the dimensions that meters show. Knows no reader.
"""

from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext, gettext_noop, ngettext

from cluster.store.ports import JobsFace, PoolFace, RoomHeld
from dashboard.wording import amount, count_of, number, one_of
from scheduler.structs.quota import QuotaAmounts

#: The dimensions of a quota that every list has: field, word, unit.
LISTED = (
    ("cpu", "CPU", "MHz"),
    ("memory_mb", "Memory", "MiB"),
    ("disk_mb", "Disk", "MiB"),
    ("allocations", "Allocations", ""),
)
#: Told only where a quota limits them.
_SELDOM = (("cores", "Cores", ""), ("memory_max_mb", gettext_noop("Memory at most"), "MiB"))


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One dimension: what is held of what there is.

    `total` 0: without limit; less: nothing may be held.
    """

    word: str
    unit: str
    used: int
    total: int

    @property
    def told(self) -> str:
        """`1 200 of 4 000 MHz`, or what is held alone where nothing limits it."""
        if not self.total:
            return _amount(self.used, self.unit)
        return gettext("{used} of {amount}").format(
            used=number(self.used), amount=_amount(self.most, self.unit)
        )

    @property
    def most(self) -> int:
        """What may be held where there is a limit."""
        return max(self.total, 0)

    @property
    def label(self) -> str:
        """For screen readers."""
        return f"{self.word}: {self.told}"

    @property
    def is_full(self) -> bool:
        """Whether nothing more fits."""
        return bool(self.total) and self.used >= self.most

    @property
    def tone(self) -> str:
        """Only what keeps work from being placed has one."""
        return "blocked" if self.is_full else ""

    @property
    def percent(self) -> int:
        """Rounded down: 100 only when it is full."""
        if self.total > 0:
            return self.used * 100 // self.total
        return 100 if self.is_full else 0


def quota_shares(limits: QuotaAmounts, used: QuotaAmounts) -> tuple[Share, ...]:
    """Every dimension of a quota: those that lists have first."""
    limited = tuple(each for each in _SELDOM if getattr(limits, each[0]))
    return tuple(
        Share(
            word=gettext(word), unit=unit, used=getattr(used, field), total=getattr(limits, field)
        )
        for field, word, unit in (*LISTED, *limited)
    )


def pool_shares(pool: PoolFace, held: RoomHeld) -> tuple[Share, ...]:
    """CPU and memory of the nodes of a pool."""
    return (
        Share(word="CPU", unit="MHz", used=held.cpu_mhz, total=pool.cpu_mhz),
        Share(word="Memory", unit="MiB", used=held.memory_mb, total=pool.memory_mb),
    )


def namespace_sentence(jobs: JobsFace, use: QuotaAmounts) -> tuple[str, str]:
    """The strong clause, and the rest."""
    if not jobs.total:
        strong = gettext("No job.")
    else:
        strong = gettext("{job}, {alive} not ended.").format(
            job=count_of(jobs.total, "{count} job", "{count} jobs"), alive=number(jobs.alive)
        )
    if not use.allocations:
        return strong, gettext("No allocation holds room.")
    held = count_of(use.allocations, "{count} allocation", "{count} allocations")
    verb = "holds" if use.allocations == 1 else "hold"
    cpu, memory = amount(use.cpu, "MHz"), amount(use.memory_mb, "MiB")
    return strong, gettext("{held} {verb} {cpu} and {memory}.").format(
        held=held, verb=verb, cpu=cpu, memory=memory
    )


def quota_sentence(shares: Sequence[Share], namespaces: Sequence[str]) -> tuple[str, str]:
    """The strong clause, and the rest."""
    limited = [share for share in shares if share.total]
    full = [share.word for share in limited if share.is_full]
    if not limited:
        strong = gettext("It limits nothing.")
    elif full:
        strong = ngettext("{full} is used up.", "{full} are used up.", len(full)).format(
            full=one_of(full, "and")
        )
    else:
        fullest = max(limited, key=lambda share: share.used / share.total)
        strong = gettext("At most {percent} % is used: {word}.").format(
            percent=fullest.percent, word=fullest.word
        )
    if not namespaces:
        return strong, gettext("No namespace counts against it.")
    told = count_of(len(namespaces), "{count} namespace", "{count} namespaces")
    rest = ngettext(
        "{told} counts against it.", "{told} count against it.", len(namespaces)
    ).format(told=told)
    if full:
        rest += gettext(" What needs more of it waits.")
    return strong, rest


def pool_sentence(pool: PoolFace, held: RoomHeld) -> tuple[str, str]:
    """The strong clause, and the rest."""
    if not pool.nodes:
        return gettext("No node is in it."), gettext("What names it waits until one joins.")
    strong = gettext("{ready} of {node} ready.").format(
        ready=number(pool.ready), node=count_of(pool.nodes, "{count} node", "{count} nodes")
    )
    if not held.allocations:
        return strong, gettext("Nothing holds room there.")
    cpu, memory = pool_shares(pool, held)
    told = count_of(held.allocations, "{count} allocation", "{count} allocations")
    verb = "holds" if held.allocations == 1 else "hold"
    return strong, gettext(
        "{told} {verb} {percent} % of its CPU, {percent2} % of its memory."
    ).format(told=told, verb=verb, percent=cpu.percent, percent2=memory.percent)


def _amount(value: int, unit: str) -> str:
    return amount(value, unit) if unit else number(value)
