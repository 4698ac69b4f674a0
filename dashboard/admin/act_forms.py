"""Forms of the pages that stand between an action of the admin and its act."""

from django import forms
from django.utils.translation import gettext_lazy


class ActForm(forms.Form):
    """What is asked before an act; each answer can stand in the address of a rehearsal."""

    #: Fields that a rehearsal needs no answer to.
    not_rehearsed: tuple[str, ...] = ()

    def for_count(self, count: int) -> "ActForm":
        """The form for so many rows."""
        del count
        return self

    def for_rehearsal(self) -> "ActForm":
        """The form of a rehearsal."""
        for name in self.not_rehearsed:
            self.fields[name].required = False
        return self

    def offered(self, choice: str) -> "ActForm":
        """The same answers, not yet judged, after a choice among what a rehearsal compared."""
        del choice
        answers = {
            name: field.widget.value_from_datadict(self.data, self.files, name)
            for name, field in self.fields.items()
        }
        return type(self)(initial=answers)

    def as_query(self) -> dict[str, str]:
        """What was answered, for the address that shows the rehearsal."""
        answers: dict[str, str] = {}
        for name, field in self.fields.items():
            answer = self.cleaned_data.get(name)
            if answer:
                answers[name] = "on" if answer is True else str(answer)
            elif answer is False and self.get_initial_for_field(field, name):
                # Left out, it would look as it did before anything was answered.
                answers[name] = ""
        return answers

    def why(self) -> str:
        """The reason as it was typed; empty where none was."""
        return str(self.cleaned_data.get("reason", ""))


class ReasonForm(ActForm):
    """A reason, which may be left out."""

    reason = forms.CharField(
        max_length=200,
        required=False,
        help_text=gettext_lazy("Kept in the history."),
        widget=forms.TextInput(attrs={"class": "vTextField"}),
    )
