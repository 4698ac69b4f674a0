"""What a block must be besides the types of its attributes.

In: a block as it applies, its body and its form, before `finish` looks at it. Out: problems noted
at the value or label that is wrong (validation.md 22, F22 to F25).
"""

from collections.abc import Callable

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.finish import VERTICAL
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.request_form import RequestForm

#: The block, its body, its form, and the text in which problems are noted.
Rule = Callable[[syntax.Block, syntax.BlockBody, RequestForm, Source], None]


def _group_scaling(
    block: syntax.Block, body: syntax.BlockBody, form: RequestForm, source: Source
) -> None:
    del block
    if form["Type"] not in {None, "", "horizontal"}:
        detail = f'task group scaling policy had invalid type: "{form["Type"]}"'
        _note_at_type(body, source, "Invalid group scaling type", detail)


def _task_scaling(
    block: syntax.Block, body: syntax.BlockBody, form: RequestForm, source: Source
) -> None:
    expected = VERTICAL.get(form["Type"].lower())
    if expected is None:
        start, end = (block.label_places or [(block.start, block.type_end)])[0]
        detail = 'scaling policy name must be "cpu" or "mem"'
        source.note(start, end, "Invalid scaling policy name", detail)
        return
    given = form.get("@type")
    if given not in {None, "", expected}:
        detail = f'Invalid policy type, expected "{expected}" but found "{given}"'
        _note_at_type(body, source, "Invalid scaling policy type", detail)


def _task(block: syntax.Block, body: syntax.BlockBody, form: RequestForm, source: Source) -> None:
    del block, body
    first: dict[str, int] = {}
    for policy in form["ScalingPolicies"] or []:
        start = source.offsets[id(policy), ""]
        label = policy["Type"].removeprefix("vertical_")
        if label not in first:
            first[label] = start
            continue
        line, column = source.place(first[label])
        detail = f"Only one scaling {label} block is allowed."
        detail += f" Another was defined at {source.name}:{line},{column}."
        source.note(start, start + len("scaling"), f'Duplicate scaling "{label}" block', detail)


def _note_at_type(body: syntax.BlockBody, source: Source, summary: str, detail: str) -> None:
    place = body.attributes["type"].expression
    source.note(place.start, place.end, summary, detail)


#: By schema.
RULES: dict[str, Rule] = {
    "scaling": _group_scaling,
    "task": _task,
    "task_scaling": _task_scaling,
}
