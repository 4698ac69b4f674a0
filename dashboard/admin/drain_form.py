"""What is asked before nodes drain: deadline, force, system jobs, and the reason.

In: the fields of the form. Out: a DrainStrategy and its note, or what is wrong with each field.
"""

import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from cluster.operations.nodes import DrainRequest
from cluster.operations.staged_drains import MOST_NODES, StagedDrainRequest
from dashboard.admin.act_forms import ActForm
from dashboard.rehearsed_paces import paces_for
from scheduler.state.writes.node_drain import DrainNote
from scheduler.structs.node import DrainStrategy

_SECOND = 1_000_000_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
#: As the reference: what forces a drain at once.
_FORCED = -_SECOND
_NONE, _CUSTOM = "none", "custom"


def duration_of(text: str) -> int:
    """`90m`, `1h30m`, `2d` in seconds; 0 when it is none."""
    found = _DURATION.fullmatch(text.strip().replace(" ", ""))
    if found is None:
        return 0
    amounts = zip(found.groups(), ("d", "h", "m", "s"), strict=True)
    return sum(int(amount) * _UNITS[unit] for amount, unit in amounts if amount)


class DrainForm(ActForm):
    """The intermediate page of `Drain selected nodes`."""

    not_rehearsed = ("reason",)

    reason = forms.CharField(
        max_length=200,
        help_text=gettext_lazy("Kept with the drain and in the history."),
        error_messages={"required": gettext_lazy("Give a reason; it is kept with the drain.")},
        widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True}),
    )
    ticket = forms.CharField(
        max_length=100,
        required=False,
        help_text=gettext_lazy("Such as OPS-412. Kept with the drain and in the history."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
    deadline = forms.ChoiceField(
        choices=[
            ("15m", gettext_lazy("15 minutes")),
            ("1h", gettext_lazy("1 hour")),
            (_NONE, gettext_lazy("none: wait without limit")),
            (_CUSTOM, "custom"),
        ],
        initial="1h",
        help_text=gettext_lazy("Then what still runs there is stopped by force."),
    )
    custom = forms.CharField(
        max_length=20,
        required=False,
        label=gettext_lazy("Custom deadline"),
        help_text=gettext_lazy("Such as 90m or 1h30m. Used when the deadline is custom."),
        widget=forms.TextInput(attrs={"size": 8, "placeholder": "90m"}),
    )
    ignore_system_jobs = forms.BooleanField(
        required=False, label=gettext_lazy("Leave system jobs running"), label_suffix=""
    )
    force = forms.BooleanField(
        required=False,
        label=gettext_lazy("Stop everything now, without waiting for replacements"),
        label_suffix="",
    )

    at_once = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_NODES,
        label=gettext_lazy("Nodes at once"),
        help_text=gettext_lazy(
            "Empty: all together. Else so many drain at a time: the next begins when one is done."
        ),
        widget=forms.TextInput(attrs={"size": 8, "inputmode": "numeric"}),
    )
    close_first = forms.BooleanField(
        required=False, label=gettext_lazy("Close nodes that wait for their turn"), label_suffix=""
    )

    def for_count(self, count: int) -> "DrainForm":
        """One node has no others to wait for."""
        if count < 2:
            del self.fields["at_once"], self.fields["close_first"]
        return self

    def offered(self, choice: str) -> "DrainForm":
        """The same answers with another number of nodes at once."""
        form = super().offered(choice)
        assert isinstance(form, DrainForm), "made of the same class"
        is_count = choice.isdecimal() and 0 < int(choice) <= MOST_NODES
        form.initial["at_once"] = int(choice) if is_count else ""
        return form

    def clean(self) -> dict[str, Any]:
        """A custom deadline must be a duration of up to 30 days."""
        fields = super().clean() or {}
        if fields.get("deadline") == _CUSTOM and not fields.get("force"):
            seconds = duration_of(fields.get("custom", ""))
            if not 0 < seconds <= 30 * _UNITS["d"]:
                self.add_error("custom", gettext("Write a duration such as 90m, at most 30d."))
        return fields

    def request(self, user: str) -> DrainRequest:
        """What a valid form asks for."""
        fields = self.cleaned_data
        return DrainRequest(
            strategy=DrainStrategy(
                deadline=self._deadline(), ignore_system_jobs=fields["ignore_system_jobs"]
            ),
            note=DrainNote(meta=self._meta(user)),
        )

    def _meta(self, user: str) -> dict[str, str]:
        fields = self.cleaned_data
        meta = {"message": fields["reason"], "by": user, "ticket": fields["ticket"]}
        return {name: told for name, told in meta.items() if told or name != "ticket"}

    def _deadline(self) -> int:
        fields = self.cleaned_data
        if fields["force"]:
            return _FORCED
        if fields["deadline"] == _NONE:
            return 0
        text = fields["custom"] if fields["deadline"] == _CUSTOM else fields["deadline"]
        return duration_of(text) * _SECOND

    def change(self, node_ids: list[str]) -> dict[str, Any]:
        """What a valid form asks to rehearse, in the form that programs send."""
        spec = {
            "Deadline": self._deadline(),
            "IgnoreSystemJobs": self.cleaned_data["ignore_system_jobs"],
        }
        staged = self.stages(node_ids, "")
        pace = {"AtOnce": staged.at_once} if staged else {}
        paces = paces_for(len(node_ids), staged.at_once if staged else 0)
        # Closed first or not: the other paces are compared as they would be asked for.
        closed = {"CloseFirst": self.cleaned_data["close_first"]} if paces else {}
        beside = {"Paces": paces} if paces else {}
        return {"Drain": {"NodeIDs": node_ids, "Spec": spec, **pace, **closed, **beside}}

    def stages(self, node_ids: Sequence[str], user: str) -> StagedDrainRequest | None:
        """What a valid form asks of these nodes together; None where all drain at once."""
        fields = self.cleaned_data
        at_once = fields.get("at_once") or len(node_ids)
        if at_once >= len(node_ids):
            return None
        return StagedDrainRequest(
            node_ids=tuple(node_ids),
            at_once=at_once,
            deadline=self._deadline(),
            ignore_system_jobs=fields["ignore_system_jobs"],
            close_first=fields["close_first"],
            meta=self._meta(user),
        )

    def told(self) -> str:
        """For the history, which is kept in English: every option and the reason."""
        fields = self.cleaned_data
        chosen = fields["custom"] if fields["deadline"] == _CUSTOM else fields["deadline"]
        parts = ["by force, at once" if fields["force"] else f"deadline {chosen}"]
        if fields["ignore_system_jobs"]:
            parts.append("system jobs left running")
        if fields.get("at_once"):
            parts.append(f"{fields['at_once']} nodes at once")
        told = f"Drain: {', '.join(parts)}. Reason: {fields['reason']}"
        return f"{told}. Ticket: {fields['ticket']}" if fields["ticket"] else told


class CancelForm(ActForm):
    """The intermediate page of `Cancel drain`."""

    mark_eligible = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("Set the nodes eligible again"),
        label_suffix="",
    )
    reason = forms.CharField(
        max_length=200, required=False, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
