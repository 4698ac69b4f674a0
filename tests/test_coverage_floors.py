"""The floors of coverage are told apart by package, and one below is seen."""

from tests.coverage_floors import FLOORS, judged, shares_of


def told(statements, lines, branches, taken):
    return {
        "summary": {
            "num_statements": statements,
            "covered_lines": lines,
            "num_branches": branches,
            "covered_branches": taken,
        }
    }


def test_lines_and_branches_count_alike_and_files_of_a_package_add_up():
    files = {
        "scheduler/worker.py": told(80, 80, 20, 15),
        "scheduler/state/table.py": told(100, 100, 0, 0),
        "cluster/urls.py": told(10, 5, 0, 0),
    }
    assert shares_of({"files": files}) == {"scheduler": 97.5, "cluster": 50.0, "dashboard": 0.0}


def test_a_package_below_its_floor_is_marked():
    lines = judged({"scheduler": 94.99, "cluster": 90.0, "dashboard": 99.0})
    assert [line.endswith("<- below") for line in lines] == [True, False, False]
    assert set(FLOORS) == {"scheduler", "cluster", "dashboard"}
