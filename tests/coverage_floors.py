"""How much of each package the tests run, branches included, and the least that passes.

    python -m tests.coverage_floors

Reads what `pytest --cov` has measured. Prints a line per package; the exit code is 1 when one lies
below its floor.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePath

from coverage import Coverage

#: Percent of lines and branches together.
FLOORS = {"scheduler": 95.0, "cluster": 90.0, "dashboard": 90.0}


def shares_of(report: Mapping) -> dict[str, float]:
    """Percent by package, from coverage's JSON report."""
    there: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for file, told in report["files"].items():
        package = PurePath(file).parts[0]
        summary = told["summary"]
        there[package] += summary["num_statements"] + summary["num_branches"]
        ran[package] += summary["covered_lines"] + summary["covered_branches"]
    return {
        package: 100.0 * ran[package] / there[package] if there[package] else 0.0
        for package in FLOORS
    }


def judged(shares: Mapping[str, float]) -> list[str]:
    """One line per package, those below their floor say so."""
    return [
        f"{package:<10} {shares[package]:6.2f} %, at least {floor:.0f} %"
        + ("" if shares[package] >= floor else "  <- below")
        for package, floor in FLOORS.items()
    ]


def main() -> int:
    """Print the table; 1 when a package lies below its floor."""
    coverage = Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as folder:
        outfile = Path(folder) / "report.json"
        coverage.json_report(outfile=str(outfile))
        shares = shares_of(json.loads(outfile.read_text(encoding="utf-8")))
    lines = ["coverage, lines and branches together:", *judged(shares)]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(any(shares[package] < floor for package, floor in FLOORS.items()))


if __name__ == "__main__":
    sys.exit(main())
