"""The form on the page "Inside" that sets collection: what stands, by what, and what is typed.

In: the settings of the environment, what the record has in place of them, and texts as people
type them. Out: overrides, or what is wrong with each text; lines of the form.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.translation import gettext, gettext_noop
from msgspec.structs import replace

from cluster.jobspec.durations import duration_text, read_duration
from cluster.operations.garbage import VARIABLES
from dashboard.wording import span
from scheduler.structs.collection import CollectionOverrides, CollectionSettings, bounds_of

_SECOND = 1_000_000_000
_LABELS = {
    "evaluation_interval": gettext_noop("Evaluations, interval"),
    "evaluation_age": gettext_noop("Evaluations, threshold"),
    "batch_evaluation_age": gettext_noop("Evaluations of batch jobs, threshold"),
    "job_interval": gettext_noop("Jobs, interval"),
    "job_age": gettext_noop("Jobs, threshold"),
    "deployment_interval": gettext_noop("Deployments, interval"),
    "deployment_age": gettext_noop("Deployments, threshold"),
    "node_interval": gettext_noop("Nodes, interval"),
    "node_age": gettext_noop("Nodes, threshold"),
    "token_interval": gettext_noop("API tokens, interval"),
    "token_age": gettext_noop("API tokens, threshold since they expired"),
}


class SettingLine(NamedTuple):
    """One value of the form."""

    field: str
    label: str
    #: What counts now.
    stands: str
    #: It was set on the page, and not by the environment.
    is_by_page: bool
    variable: str
    #: What the environment says, as it would be typed.
    environment: str
    #: What stands in the field.
    text: str
    bounds: str
    error: str


class TypedSettings(NamedTuple):
    """What somebody sent, read."""

    overrides: CollectionOverrides
    #: By field; empty texts leave the environment's value.
    texts: Mapping[str, str]
    #: By field, a sentence.
    errors: Mapping[str, str]


def read_typed(fields: Mapping[str, str]) -> TypedSettings:
    """Every field of the form; one that is missing counts as empty."""
    texts = {field: str(fields.get(field, "")).strip() for field in VARIABLES}
    errors: dict[str, str] = {}
    values: dict[str, float] = {}
    for field, text in texts.items():
        if not text:
            continue
        read = read_duration(text)
        if read is None:
            errors[field] = gettext("Not a duration: write 30m, 4h or 1h30m.")
        else:
            values[field] = read / _SECOND
    overrides = replace(CollectionOverrides(), **values)
    for field in overrides.out_of_bounds:
        errors[field] = gettext("Must be {bounds}.").format(bounds=_bounds(field))
    return TypedSettings(overrides, texts, errors)


def setting_lines(
    settings: CollectionSettings, stored: CollectionOverrides, typed: TypedSettings | None = None
) -> list[SettingLine]:
    """A line for each value; with the texts that were typed in place of what is stored."""
    by_page, now = stored.values, stored.over(settings)
    texts = typed.texts if typed else {field: _text(value) for field, value in by_page.items()}
    errors = typed.errors if typed else {}
    return [
        SettingLine(
            field=field,
            label=gettext(_LABELS[field]),
            stands=span(round(getattr(now, field) * _SECOND)),
            is_by_page=field in by_page,
            variable=variable,
            environment=_text(getattr(settings, field)),
            text=texts.get(field, ""),
            bounds=_bounds(field),
            error=errors.get(field, ""),
        )
        for field, variable in VARIABLES.items()
    ]


def error_told(typed: TypedSettings) -> str:
    """Every wrong field, in one sentence."""
    return gettext("Wrong: {labels}.").format(
        labels="; ".join(gettext(_LABELS[field]) for field in VARIABLES if field in typed.errors)
    )


def _bounds(field: str) -> str:
    least, most = bounds_of(field)
    return gettext("from {text} to {text2}").format(text=_text(least), text2=_text(most))


def _text(seconds: float) -> str:
    """As short as people write it: `1h30m`, `4h`."""
    text = duration_text(round(seconds * _SECOND))
    if text.endswith("m0s"):
        text = text.removesuffix("0s")
    return text.removesuffix("0m") if text.endswith("h0m") else text
