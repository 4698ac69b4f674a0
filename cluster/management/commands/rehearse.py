"""Rehearse changes on a copy of the cluster: what would happen, told before anything does.

Reads the record of the environment's database; writes to standard output, and nothing else.
"""

import json
import os
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cluster.jobspec.hcl.job_file import parse_hcl
from cluster.jobspec.problems import JobProblems
from cluster.management.rehearsal_text import told
from cluster.management.terminal import CommandWithExamples
from cluster.rehearsal.run import RehearsalLimits
from cluster.rehearsal.scenario import ScenarioProblems
from cluster.rehearsal.scenario_form import read_scenario
from cluster.rehearsal.wire import to_wire
from cluster.runtime.memory_limit import memory_limit, memory_mib
from cluster.runtime.rehearsing import rehearse
from cluster.store.access import the_store
from scheduler.structs.node import Node

Document = dict[str, Any]

_EPILOG = """\
Nothing in the cluster moves. Nodes are named by name, by id or by the first digits of it.

  manage.py rehearse drain node-7 node-8 --deadline 1h      two nodes at once
  manage.py rehearse drain --filter 'NodeClass == "old"' --at-once 2
  manage.py rehearse drain --filter 'NodeClass == "old"' --paces 0 4 1
  manage.py rehearse lose --filter 'Meta.rack == "r4"'      a rack falls silent
  manage.py rehearse lose --filter 'Name matches "."' --share 10
  manage.py rehearse add node-7 --count 5                   five more nodes like this one
  manage.py rehearse run shop.nomad.hcl                     the rollout of a job file
  manage.py rehearse stop shop
  manage.py rehearse scale shop --group web --count 12
  manage.py rehearse settings --algorithm spread
  manage.py rehearse quota team-a --limit MemoryMB=4096 CPU=2000
  manage.py rehearse changes what-if.json                   several at once, as POST /v1/rehearsals

Exit code 0, or 2 when something would find no place.
"""
_WAITS = 2


class Command(CommandWithExamples):
    """`manage.py rehearse WHAT ...`."""

    help = "Rehearse changes by the real scheduler on a copy of the cluster."
    epilog = _EPILOG

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What is to be rehearsed, and how to print."""
        parser.add_argument("what", choices=[*_CHANGES])
        parser.add_argument("names", nargs="*", help="nodes, a job, or a file")
        parser.add_argument("--filter", default="", help="nodes by a filter expression of the API")
        parser.add_argument("--share", type=int, default=100, help="percent of those")
        parser.add_argument("--deadline", default="1h", help="drain: 30m, 1h; 0 for none")
        parser.add_argument("--at-once", type=int, default=0, help="drain: so many at a time")
        parser.add_argument(
            "--paces", type=int, nargs="*", default=[], metavar="N",
            help="drain: compared with so many at a time, 0 for all together",
        )  # fmt: skip
        parser.add_argument("--ignore-system-jobs", action="store_true", help="drain")
        parser.add_argument("--namespace", default="default")
        parser.add_argument("--group", default="", help="scale: the group")
        parser.add_argument("--count", type=int, help="scale, add: how many")
        parser.add_argument("--algorithm", default="", help="settings: binpack or spread")
        parser.add_argument(
            "--limit", nargs="*", default=[], metavar="NAME=NUMBER", help="quota: what is set anew"
        )
        parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
        parser.add_argument(
            "--seconds",
            type=float,
            default=settings.BIVOUAC_REHEARSAL_SECONDS,
            help="end after so long, with what is known by then",
        )

    def handle(self, *, what: str, json: bool, seconds: float, **given: Any) -> None:
        """Rehearse and print."""
        os.nice(10)
        try:
            scenario = read_scenario(_CHANGES[what](given))
            with memory_limit(settings.BIVOUAC_REHEARSAL_MEMORY_MIB):
                result = rehearse(scenario, RehearsalLimits(seconds=seconds))
        except ScenarioProblems as error:
            lines = [f"{each.path}: {each.message}" for each in error.problems]
            raise CommandError("\n".join(lines)) from None
        except JobProblems as error:
            raise CommandError(error.text) from None
        except MemoryError:
            raise CommandError(
                f"it needs more than {settings.BIVOUAC_REHEARSAL_MEMORY_MIB} MiB"
                " (BIVOUAC_REHEARSAL_MEMORY_MIB)"
            ) from None
        if json:
            self.stdout.write(_printed({**to_wire(result), "MemoryMB": memory_mib()}))
        else:
            for line in told(result):
                self.stdout.write(line)
        if result.totals.waits:
            raise SystemExit(_WAITS)


def _printed(document: object) -> str:
    return json.dumps(document, indent=2)


def _nodes(given: Document) -> Document:
    if given["filter"]:
        return {"Filter": given["filter"], "Share": given["share"]}
    if not given["names"]:
        raise CommandError("name nodes, or choose them by --filter")
    names = given["names"]
    nodes = the_store().read(lambda reader: reader.nodes())
    return {"NodeIDs": [_node_id(nodes, name) for name in names]}


def _node_id(nodes: Sequence[Node], name: str) -> str:
    found = [node.id for node in nodes if name in (node.id, node.name)]
    found = found or [node.id for node in nodes if node.id.startswith(name)]
    if len(found) != 1:
        raise CommandError(f"{name}: {'no node' if not found else f'{len(found)} nodes'}")
    return found[0]


def _drain(given: Document) -> Document:
    deadline = given["deadline"]
    spec = {
        "Deadline": 0 if deadline == "0" else deadline,
        "IgnoreSystemJobs": given["ignore_system_jobs"],
    }
    pace = {"AtOnce": given["at_once"], "Paces": given["paces"]}
    return {"Drain": {**_nodes(given), "Spec": spec, **pace}}


def _add(given: Document) -> Document:
    (like,) = _nodes({**given, "filter": "", "names": given["names"][:1]})["NodeIDs"]
    return {"Add": {"Like": like, "Count": given["count"] or 1}}


def _run(given: Document) -> Document:
    text = Path(_one(given, "a job file")).read_text(encoding="utf-8")
    if text.lstrip().startswith("{"):
        document = json.loads(text)
        return {"Job": document.get("Job", document)}
    return {"Job": parse_hcl(text)[0]}


def _scale(given: Document) -> Document:
    job = {"JobID": _one(given, "a job"), "Namespace": given["namespace"]}
    return {"Scale": {**job, "Group": given["group"], "Count": given["count"]}}


def _quota(given: Document) -> Document:
    limits: Document = {}
    for each in given["limit"]:
        name, _, text = each.partition("=")
        # What is no number is complained about with its place.
        is_number = text.removeprefix("-").isdecimal() and text.isascii()
        limits[name] = int(text) if is_number else text
    return {"Quota": {"Name": _one(given, "a quota"), "Limits": limits}}


def _changes(given: Document) -> Any:
    return json.loads(Path(_one(given, "a file")).read_text(encoding="utf-8"))


def _one(given: Document, what: str) -> str:
    if len(given["names"]) != 1:
        raise CommandError(f"name {what}")
    return str(given["names"][0])


_CHANGES: dict[str, Callable[[Document], Any]] = {
    "drain": _drain,
    "lose": lambda given: {"Lose": _nodes(given)},
    "purge": lambda given: {"Purge": _nodes(given)},
    "close": lambda given: {"Eligibility": {**_nodes(given), "Eligibility": "ineligible"}},
    "open": lambda given: {"Eligibility": {**_nodes(given), "Eligibility": "eligible"}},
    "add": _add,
    "run": _run,
    "stop": lambda given: {
        "Stop": {"JobID": _one(given, "a job"), "Namespace": given["namespace"]}
    },
    "scale": _scale,
    "settings": lambda given: {"Settings": {"SchedulerAlgorithm": given["algorithm"]}},
    "quota": _quota,
    "changes": _changes,
}
