"""The forms of namespaces, quotas and node pools: what a person may say of each.

In: what is stored, or fields as they were sent. Out: the noun as it is to be stored; what the form
does not show stays as it was. Whether it may be stored is the operation's word.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from django import forms
from django.utils.translation import gettext, gettext_lazy
from msgspec.structs import replace

from scheduler.structs.job import Namespace, NamespaceCapabilities, NamespacePoolRules
from scheduler.structs.node import NodePool, NodePoolSchedulerConfiguration
from scheduler.structs.quota import QuotaAmounts, QuotaSpec

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_MODES = {"": None, "yes": True, "no": False}
_LIMITS = QuotaAmounts.__struct_fields__
_LARGEST = 2**53


class PairsField(forms.CharField):
    """Meta: one `key = value` a line, each key once."""

    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def clean(self, value: Any) -> dict[str, str]:
        """The pairs; raises a ValidationError that names the line."""
        pairs: dict[str, str] = {}
        for number, line in enumerate(str(super().clean(value) or "").splitlines(), 1):
            key, sign, told = line.partition("=")
            if not line.strip():
                continue
            if not sign or not key.strip():
                raise forms.ValidationError(
                    gettext("Line {number}: write key = value.").format(number=number)
                )
            if key.strip() in pairs:
                raise forms.ValidationError(
                    gettext("Line {number}: {key} is there already.").format(
                        number=number, key=key.strip()
                    )
                )
            pairs[key.strip()] = told.strip()
        return pairs


class NamesField(forms.CharField):
    """Names with commas between; None where nothing is written."""

    def clean(self, value: Any) -> tuple[str, ...] | None:
        """The names in their order, each once."""
        names = (name.strip() for name in str(super().clean(value) or "").split(","))
        return tuple(dict.fromkeys(filter(None, names))) or None


class GovernanceForm(forms.Form):
    """What all of them have: a name, given once, and a description."""

    name = forms.CharField(
        max_length=128,
        widget=forms.TextInput(attrs={"class": "vTextField", "spellcheck": "false"}),
    )
    description = forms.CharField(
        required=False, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
    #: The noun that a new one begins as.
    empty: ClassVar[Any]

    def __init__(self, data: Any = None, *, stored: Any = None) -> None:
        """For one that is stored, else for a new one."""
        self.stored = stored
        super().__init__(data, initial=self.said(stored) if stored is not None else None)
        if stored is not None:
            del self.fields["name"]

    def said(self, stored: Any) -> dict[str, Any]:
        """The fields of one that is stored."""
        return {"description": stored.description}

    def wanted(self) -> Any:
        """What a valid form asks to be stored."""
        before = self.stored if self.stored is not None else self.empty
        name = self.stored.name if self.stored is not None else self.cleaned_data["name"]
        return self.laid_over(
            replace(before, name=name, description=self.cleaned_data["description"])
        )

    def laid_over(self, before: Any) -> Any:
        """With the fields that are its own."""
        return before


class NamespaceForm(GovernanceForm):
    """A namespace: its quota, what its jobs may use and where they may run, its meta."""

    empty = Namespace()
    quota = forms.ChoiceField(
        required=False, help_text=gettext_lazy("Limits what its allocations take.")
    )
    enabled_task_drivers = NamesField(
        required=False,
        label=gettext_lazy("Drivers allowed"),
        help_text=gettext_lazy("Empty: all that are not forbidden."),
    )
    disabled_task_drivers = NamesField(required=False, label=gettext_lazy("Drivers forbidden"))
    enabled_network_modes = NamesField(
        required=False,
        label=gettext_lazy("Network modes allowed"),
        help_text=gettext_lazy("Empty: all that are not forbidden."),
    )
    disabled_network_modes = NamesField(
        required=False, label=gettext_lazy("Network modes forbidden")
    )
    default_pool = forms.CharField(
        required=False,
        label=gettext_lazy("Node pool"),
        help_text=gettext_lazy("Of jobs that name none. Empty: default."),
    )
    allowed_pools = NamesField(
        required=False,
        label=gettext_lazy("Node pools allowed"),
        help_text=gettext_lazy(
            "Beside that one; * stands for any text. Empty: all that are not forbidden."
        ),
    )
    denied_pools = NamesField(required=False, label=gettext_lazy("Node pools forbidden"))
    meta = PairsField(required=False, help_text=gettext_lazy("One key = value a line."))

    def choose_from(self, quotas: Iterable[str]) -> None:
        """The quotas that there are."""
        names = {*quotas, *([self.stored.quota] if self.stored is not None else [])} - {""}
        choices = [("", "none"), *((name, name) for name in sorted(names))]
        field = self.fields["quota"]
        assert isinstance(field, forms.ChoiceField), "it is declared so"
        field.choices = choices

    def said(self, stored: Namespace) -> dict[str, Any]:
        may = stored.capabilities or NamespaceCapabilities()
        lists = {
            name: ", ".join(names or ()) for name, names in msgspec.structs.asdict(may).items()
        }
        pools = stored.node_pool_configuration or NamespacePoolRules()
        return {
            **super().said(stored),
            **lists,
            "quota": stored.quota,
            "default_pool": pools.default,
            "allowed_pools": ", ".join(pools.allowed or ()),
            "denied_pools": ", ".join(pools.denied or ()),
            "meta": _lines(stored.meta),
        }

    def laid_over(self, before: Namespace) -> Namespace:
        fields = self.cleaned_data
        names = NamespaceCapabilities.__struct_fields__
        lists = {name: fields[name] for name in names}
        capabilities = NamespaceCapabilities(**lists) if any(lists.values()) else None
        return replace(
            before,
            quota=fields["quota"],
            meta=fields["meta"],
            capabilities=capabilities,
            node_pool_configuration=self._pools(before.node_pool_configuration),
        )

    def _pools(self, before: NamespacePoolRules | None) -> NamespacePoolRules | None:
        fields = self.cleaned_data
        # An empty list, which leaves nothing but the default pool, looks here as none does.
        unsaid = () if before is not None and before.allowed == () else None
        rules = NamespacePoolRules(
            default=fields["default_pool"],
            allowed=unsaid if fields["allowed_pools"] is None else fields["allowed_pools"],
            denied=fields["denied_pools"],
        )
        return rules if rules != NamespacePoolRules() else None


def _limit_field(label: "StrOrPromise", help_text: "StrOrPromise" = "") -> forms.IntegerField:
    return forms.IntegerField(
        required=False,
        min_value=-_LARGEST,
        max_value=_LARGEST,
        label=label,
        help_text=help_text,
    )


class QuotaForm(GovernanceForm):
    """A quota: its limits; 0 is no limit."""

    empty = QuotaSpec()
    cpu = _limit_field(
        gettext_lazy("CPU, MHz"), gettext_lazy("0: no limit. Less than 0: nothing at all.")
    )
    cores = _limit_field(gettext_lazy("Whole cores"))
    memory_mb = _limit_field(gettext_lazy("Memory, MiB"))
    memory_max_mb = _limit_field(
        gettext_lazy("Memory at most, MiB"), gettext_lazy("With what tasks may use beyond it.")
    )
    disk_mb = _limit_field(gettext_lazy("Disk, MiB"))
    allocations = _limit_field("Allocations")

    def said(self, stored: QuotaSpec) -> dict[str, Any]:
        return {**super().said(stored), **msgspec.structs.asdict(stored.limits)}

    def laid_over(self, before: QuotaSpec) -> QuotaSpec:
        given = {name: self.cleaned_data[name] or 0 for name in _LIMITS}
        return replace(before, limits=replace(before.limits, **given))


class PoolForm(GovernanceForm):
    """A node pool: what of the scheduler's settings is its own, its meta."""

    empty = NodePool()
    scheduler_algorithm = forms.ChoiceField(
        required=False,
        choices=[
            ("", gettext_lazy("the cluster's")),
            ("binpack", "binpack"),
            ("spread", "spread"),
        ],
    )
    memory_oversubscription = forms.ChoiceField(
        required=False, choices=[("", gettext_lazy("the cluster's")), ("yes", "on"), ("no", "off")]
    )
    meta = PairsField(required=False, help_text=gettext_lazy("One key = value a line."))

    def said(self, stored: NodePool) -> dict[str, Any]:
        own = stored.scheduler_configuration or NodePoolSchedulerConfiguration()
        words = {value: word for word, value in _MODES.items()}
        return {
            **super().said(stored),
            "scheduler_algorithm": own.scheduler_algorithm,
            "memory_oversubscription": words[own.memory_oversubscription_enabled],
            "meta": _lines(stored.meta),
        }

    def laid_over(self, before: NodePool) -> NodePool:
        fields = self.cleaned_data
        own = replace(
            before.scheduler_configuration or NodePoolSchedulerConfiguration(),
            scheduler_algorithm=fields["scheduler_algorithm"],
            memory_oversubscription_enabled=_MODES[fields["memory_oversubscription"]],
        )
        is_own = own != NodePoolSchedulerConfiguration()
        return replace(
            before, meta=fields["meta"], scheduler_configuration=own if is_own else None
        )


def _lines(pairs: Mapping[str, str]) -> str:
    return "\n".join(f"{key} = {value}" for key, value in sorted(pairs.items()))
