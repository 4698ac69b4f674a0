"""What the scenario `foretold` counts as named, and what it draws."""

from collections import Counter

import numpy as np

from cluster.bench.foretold import NamedAndTaken, over
from cluster.bench.foretold_changes import Changes, DrawnChange

DEED = DrawnChange("drain_1", {}, lambda _: None)


def test_places_are_compared_by_job_and_node_whatever_the_name_of_the_allocation():
    named = Counter({("web", "a"): 2, ("web", "b"): 1})
    taken = Counter({("web", "a"): 1, ("web", "c"): 2, ("db", "a"): 1})
    compared = NamedAndTaken(DEED, named, taken)
    assert (compared.right, compared.places) == (1, 4)


def test_less_than_99_percent_fails():
    figures = {"rest_percent": 98.9, "start_percent": 99.0, "rest_places": 10.0}
    assert over(figures) == ["rest_percent: 98.9, at least 99"]


class Answers:
    """A cluster of three nodes that run one job each, as its API tells of it."""

    def __init__(self):
        self.jobs = {}
        self.asked = []

    def get(self, path):
        self.asked.append(path)
        return [
            {"NodeID": f"node-{n % 3}", "DesiredStatus": "run", "ClientStatus": "running",
             "JobID": name}
            for n, name in enumerate(sorted(self.jobs))
        ]  # fmt: skip

    def put(self, path, body):
        self.asked.append(path)
        if path == "/v1/jobs":
            self.jobs[body["Job"]["ID"]] = body["Job"]

    def delete(self, path):
        self.asked.append(path)


def test_every_kind_of_change_is_drawn_and_done_as_it_is_rehearsed():
    answers = Answers()
    changes = Changes(answers, np.random.default_rng(3))
    changes.start("rest")
    deeds = [changes.draw() for _ in range(60)]
    assert {deed.name for deed in deeds} == {"drain_1", "drain_3", "update", "scale", "stop"}
    for deed in deeds:
        answers.asked.clear()
        deed.do(answers)
        match deed.change:
            case {"Drain": {"NodeIDs": nodes}}:
                assert answers.asked == [f"/v1/node/{node}/drain" for node in nodes]
            case {"Job": _}:
                assert answers.asked == ["/v1/jobs"]
            case {"Scale": {"JobID": name}}:
                assert answers.asked == [f"/v1/job/{name}/scale"]
            case {"Stop": {"JobID": name}}:
                assert answers.asked == [f"/v1/job/{name}"]
