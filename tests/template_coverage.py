"""Which templates of recorded job files a node can render, and what the others ask for.

    python -m tests.template_coverage jobs.jsonl.gz [--names]

In: gzipped lines with `Name` and `Canonical`, as `tests/vectors/hcl` has them. Out: counts of job
files and of templates: read whole; those that name Consul or Vault; those that cannot be read.
A template whose text a node is yet to read (`source`) is counted apart.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from gotpl import Template, TemplateError

from cluster.agent.templates.functions import (
    DENIED,
    OF_CONSUL,
    OF_VAULT,
    Lookups,
    functions_of,
)
from cluster.agent.templates.render_order import RenderOrder
from tests.vector_files import lines_of

#: What becomes of a template, the worst last.
FATES = ("rendered", "of a file", "Consul", "Vault", "switched off", "not read")
_REFUSED = {
    **dict.fromkeys(OF_CONSUL, "Consul"),
    **dict.fromkeys(OF_VAULT, "Vault"),
    **dict.fromkeys(DENIED, "switched off"),
}
_UNKNOWN = re.compile(r"function '(\w+)' not defined")


class Found(NamedTuple):
    """One template of a job file."""

    job: str
    fate: str
    why: str = ""


def templates_of(name: str, job: Mapping[str, Any]) -> Iterator[Found]:
    """Every template of a job in its JSON form."""
    for group in job["TaskGroups"] or ():
        for task in group["Tasks"] or ():
            for template in task["Templates"] or ():
                yield Found(name, *_fate(template))


def _fate(template: Mapping[str, Any]) -> tuple[str, str]:
    text = template["EmbeddedTmpl"]
    if not text:
        return "of a file", ""
    order = RenderOrder(templates=(), env={}, bounds="/", task_root="/", namespace="", region="")
    functions = functions_of(order, Lookups(order))
    taken = {name: each for name, each in functions.items() if name not in _REFUSED}
    delimiters = template["LeftDelim"] or "{{", template["RightDelim"] or "}}"
    named: list[str] = []
    while True:
        try:
            Template(text, name="", delimiters=delimiters, functions=taken)
        except TemplateError as problem:
            unknown = _UNKNOWN.search(str(problem))
            if unknown is None or unknown[1] not in _REFUSED:
                return "not read", str(problem)
            named.append(unknown[1])
            taken[unknown[1]] = functions[unknown[1]]
        else:
            fate = max((_REFUSED[name] for name in named), key=FATES.index, default="rendered")
            return fate, ", ".join(named)


def counted(found: list[Found]) -> tuple[Counter[str], Counter[str]]:
    """How many templates have each fate, and how many job files by the worst of theirs."""
    worst: dict[str, str] = {}
    for each in found:
        before = worst.get(each.job, FATES[0])
        worst[each.job] = max(before, each.fate, key=FATES.index)
    return Counter(each.fate for each in found), Counter(worst.values())


def report(paths: list[str], *, with_names: bool = False) -> str:
    """The counts over all job files of these recordings; a file stands there once."""
    found: list[Found] = []
    seen: set[str] = set()
    for line in chain.from_iterable(lines_of(Path(path)) for path in paths):
        # With other variables a file comes again, under its name and a remark.
        name = line["Name"].partition("#")[0]
        if line.get("Canonical") and name not in seen:
            seen.add(name)
            found += templates_of(name, line["Canonical"])
    templates, files = counted(found)
    lines = [f"{len(found)} templates in {sum(files.values())} of {len(seen)} job files"]
    lines += [f"{fate}: {templates[fate]} templates, {files[fate]} job files" for fate in FATES]
    if with_names:
        lines += [f"{each.job}: {each.fate}: {each.why}" for each in found if each.why]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    named = [each for each in sys.argv[1:] if not each.startswith("--")]
    sys.stdout.write(report(named, with_names="--names" in sys.argv))
