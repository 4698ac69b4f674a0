import json

from cluster.bench.report import json_line, summary, table
from cluster.bench.scenario import percentile

RUNS = [
    {"jobs": 200, "complete_p50_ms": 12.345},
    {"jobs": 200, "complete_p50_ms": 9.0},
    {"jobs": 200, "complete_p50_ms": 17.75},
]


def test_a_result_holds_medians_and_extremes():
    result = summary("latency", RUNS)
    assert (result["scenario"], result["runs"]) == ("latency", 3)
    assert result["median"] == {"jobs": 200, "complete_p50_ms": 12.3}
    assert result["range"] == {"jobs": [200, 200], "complete_p50_ms": [9, 17.8]}
    assert result["machine"]
    assert result["commit"]


def test_the_json_is_one_line():
    line = json_line(summary("latency", RUNS))
    assert "\n" not in line
    assert json.loads(line)["median"]["jobs"] == 200


def test_the_table_lines_figures_up():
    _, *lines = table(summary("latency", RUNS)).splitlines()
    assert lines == [
        "figure           median  least  most",
        "jobs                200    200   200",
        "complete p50 ms    12.3      9  17.8",
    ]


def test_a_percentile_is_a_value_that_occurred():
    values = [float(value) for value in range(100, 0, -1)]
    assert [percentile(values, share) for share in (0.5, 0.99)] == [51.0, 100.0]
