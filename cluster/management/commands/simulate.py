"""Try the scheduler against chance: histories of clusters by seed, with every law looked at.

Writes to standard output, progress to standard error. Touches neither the database nor Redis.
"""

import os
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from msgspec.structs import replace

from cluster.management.terminal import CommandWithExamples
from cluster.simulation.farm import many_seeds
from cluster.simulation.history import History, history_of
from cluster.simulation.run import Broken, live_through
from cluster.simulation.shrink import shrink

_BROKEN = 1
_EPILOG = """\
Each seed is a cluster of 4 to 8 nodes with 3 to 8 kinds of jobs, and a history of moves: jobs are
registered, changed, stopped and purged; rollouts promoted, paused and failed; nodes drained,
closed and purged; nodes fall silent and come back, allocations fail, processes die, messages are
lost, late or come twice. Time is virtual and the record is in memory; leader, broker, workers,
applier and watchers are the product's own. docs/simulator.md lists the moves and the laws.

  manage.py simulate --seeds 1000            a thousand seeds, from 1 on
  manage.py simulate --seeds 50 --from 400   seeds 400 to 449
  manage.py simulate --replay 473            one seed, everything that happens told
"""


class Command(CommandWithExamples):
    """`manage.py simulate`: exit code 0, or 1 when a law was broken."""

    help = "Simulate clusters by seed and check that every law holds."
    epilog = _EPILOG

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to live through, and with how many processes."""
        parser.add_argument("--seeds", type=int, default=100, help="how many (default 100)")
        parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
        parser.add_argument("--length", type=int, default=50, help="moves of a history")
        parser.add_argument(
            "--faults",
            choices=["all", "none"],
            default="all",
            help="none: only what people do happens",
        )
        parser.add_argument("--processes", type=int, default=_processors(), help="side by side")
        parser.add_argument("--replay", type=int, metavar="SEED", help="tell one seed's history")
        parser.add_argument(
            "--moves",
            default="",
            metavar="N,N,...",
            help="with --replay: only these moves of it",
        )
        parser.add_argument(
            "--whole", action="store_true", help="tell a broken history without making it short"
        )

    def handle(self, **options: Any) -> None:
        """Live through the seeds, or tell one."""
        self._options = options
        if options["seeds"] < 1 or options["length"] < 1:
            raise CommandError("--seeds and --length are at least 1")
        if options["first"] < 0 or (options["replay"] or 0) < 0:
            raise CommandError("seeds are at least 0")
        if options["replay"] is not None:
            history = self._history(options["replay"])
            sys.exit(_BROKEN if self._tell(history, _numbers(options["moves"])) else 0)
        seed = self._first_broken()
        if seed is not None:
            self._explain(self._history(seed))
            sys.exit(_BROKEN)

    def _history(self, seed: int) -> History:
        faults = self._options["faults"] == "all"
        return history_of(seed, length=self._options["length"], faults=faults)

    def _first_broken(self) -> int | None:
        options, began, writes = self._options, time.perf_counter(), 0
        seeds = range(options["first"], options["first"] + options["seeds"])
        ends = many_seeds(
            seeds,
            length=options["length"],
            faults=options["faults"] == "all",
            processes=options["processes"],
        )
        for count, ended in enumerate(ends, 1):
            writes += ended.writes
            if ended.broken is not None:
                self._progress("\n")
                return ended.seed
            if count % 10 == 0 or count == len(seeds):
                took = time.perf_counter() - began
                self._progress(f"\r{count} of {len(seeds)} seeds, {took:.0f} s")
        self._progress("\n")
        self.stdout.write(f"Every law holds: {len(seeds)} seeds, {writes} writes.")
        return None

    def _explain(self, history: History) -> None:
        """Say which law is broken, with as little as it takes."""
        broken = live_through(history).broken
        if broken is None:
            raise CommandError(f"seed {history.seed} is not broken a second time")
        short = history
        if not self._options["whole"]:
            short = shrink(
                history,
                broken.law,
                tried=lambda tries, left: self._progress(
                    f"\rshorter: {left} moves, {tries} tries"
                ),
            )
            self._progress("\n")
        broken = live_through(short).broken or broken
        self._say(history, short, broken)

    def _say(self, history: History, short: History, broken: Broken) -> None:
        write = self.stdout.write
        write(f"Seed {history.seed} breaks the law '{broken.law}': {broken.says}.")
        write(f"  Found: {broken.found}")
        write(f"  {len(short.moves)} of its {len(history.moves)} moves are enough:\n")
        live_through(
            short, lambda at, told: None if told[0] == " " else write(f"  {at:7.1f} s  {told}")
        )
        numbers = ",".join(str(move.number) for move in short.moves)
        faults = "" if self._options["faults"] == "all" else " --faults none"
        length = self._options["length"]
        write(f"\nEverything that it writes, told:\n  manage.py simulate --replay {history.seed}")
        write(f"      --length {length}{faults} --moves {numbers}")

    def _tell(self, history: History, numbers: frozenset[int]) -> bool:
        if numbers:
            moves = tuple(move for move in history.moves if move.number in numbers)
            history = replace(history, moves=moves)
        kinds = ", ".join(history.kinds)
        self.stdout.write(f"Seed {history.seed}: {history.nodes} nodes, jobs {kinds}")
        ended = live_through(history, lambda at, told: self.stdout.write(f"{at:8.1f} s  {told}"))
        if ended.broken is None:
            self.stdout.write(f"Every law holds: {ended.writes} writes.")
            return False
        broken = ended.broken
        self.stdout.write(f"Broken: '{broken.law}': {broken.says}.\n  Found: {broken.found}")
        return True

    def _progress(self, text: str) -> None:
        if sys.stderr.isatty():
            self.stderr.write(text, ending="")
            self.stderr.flush()


def _processors() -> int:
    return os.cpu_count() or 1


def _numbers(text: str) -> frozenset[int]:
    try:
        return frozenset(int(part) for part in text.split(",") if part)
    except ValueError:
        raise CommandError(f"--moves are numbers with commas between them, not {text!r}") from None
