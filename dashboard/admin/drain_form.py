"""What is asked before nodes drain: deadline, force, system jobs, and the reason.

In: the fields of the form. Out: a DrainStrategy and its note, or what is wrong with each field.
"""

import re
from typing import Any

from django import forms

from cluster.operations.nodes import DrainRequest
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


class DrainForm(forms.Form):
    """The intermediate page of `Drain selected nodes`."""

    reason = forms.CharField(
        max_length=200,
        help_text="Kept with the drain and in the history.",
        error_messages={"required": "Give a reason; it is kept with the drain."},
        widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True}),
    )
    deadline = forms.ChoiceField(
        choices=[
            ("15m", "15 minutes"), ("1h", "1 hour"), (_NONE, "none: wait without limit"),
            (_CUSTOM, "custom"),
        ],
        initial="1h",
        help_text="Then what still runs there is stopped by force.",
    )  # fmt: skip
    custom = forms.CharField(
        max_length=20,
        required=False,
        label="Custom deadline",
        help_text="Such as 90m or 1h30m. Used when the deadline is custom.",
        widget=forms.TextInput(attrs={"size": 8, "placeholder": "90m"}),
    )
    ignore_system_jobs = forms.BooleanField(
        required=False, label="Leave system jobs running", label_suffix=""
    )
    force = forms.BooleanField(
        required=False, label="Stop everything now, without waiting for replacements",
        label_suffix="",
    )  # fmt: skip

    def for_rehearsal(self) -> "DrainForm":
        """The form of a rehearsal, which needs no reason."""
        self.fields["reason"].required = False
        return self

    def clean(self) -> dict[str, Any]:
        """A custom deadline must be a duration of up to 30 days."""
        fields = super().clean() or {}
        if fields.get("deadline") == _CUSTOM and not fields.get("force"):
            seconds = duration_of(fields.get("custom", ""))
            if not 0 < seconds <= 30 * _UNITS["d"]:
                self.add_error("custom", "Write a duration such as 90m, at most 30d.")
        return fields

    def request(self, user: str) -> DrainRequest:
        """What a valid form asks for."""
        fields = self.cleaned_data
        return DrainRequest(
            strategy=DrainStrategy(
                deadline=self._deadline(), ignore_system_jobs=fields["ignore_system_jobs"]
            ),
            note=DrainNote(meta={"message": fields["reason"], "by": user}),
        )

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
        return {"Drain": {"NodeIDs": node_ids, "Spec": spec}}

    def as_query(self) -> dict[str, str]:
        """What was answered, for the address that shows the rehearsal."""
        answers = ((name, self.cleaned_data.get(name)) for name in self.fields)
        return {
            name: "on" if answer is True else str(answer) for name, answer in answers if answer
        }

    def told(self) -> str:
        """For the history: every option and the reason."""
        fields = self.cleaned_data
        chosen = fields["custom"] if fields["deadline"] == _CUSTOM else fields["deadline"]
        parts = ["by force, at once" if fields["force"] else f"deadline {chosen}"]
        if fields["ignore_system_jobs"]:
            parts.append("system jobs left running")
        return f"Drain: {', '.join(parts)}. Reason: {fields['reason']}"


class CancelForm(forms.Form):
    """The intermediate page of `Cancel drain`."""

    mark_eligible = forms.BooleanField(
        required=False, initial=True, label="Set the nodes eligible again", label_suffix=""
    )
    reason = forms.CharField(
        max_length=200, required=False, widget=forms.TextInput(attrs={"class": "vTextField"})
    )
