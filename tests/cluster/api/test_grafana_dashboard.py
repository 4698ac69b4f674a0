"""The dashboard of examples/ asks for what /v1/metrics tells: names, labels, values of labels."""

import json
import re

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from cluster.api.metrics import prometheus_text
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs.evaluation import LifecycleStep, Step
from tests.builders import make_evaluation
from tests.cluster.api.clients import NOW, put
from tests.cluster.api.test_metrics import SECOND, measurement, world

__all__ = ["world"]

DASHBOARD = json.loads((settings.BASE_DIR / "examples" / "grafana-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
_METRIC = re.compile(r"\b((?:nomad|bivouac|process)_\w+)\b(?:\{([^}]*)\})?")
_BY = re.compile(r"by \(([^)]*)\)")
#: What Prometheus itself puts on everything that it collects. What is told under one of these
#: names is called otherwise there, unless the collector was told to honor it.
OF_PROMETHEUS = {"instance", "job"}


@pytest.fixture
async def scraped(world):
    """Samples by name, of a scrape's text."""
    end = LifecycleStep(
        eval_id=make_evaluation().id, number=4, step=Step.COMPLETE, at=NOW - SECOND
    )
    await sync_to_async(put)(world, lambda change: change.put(LIFECYCLE_STEPS, end))
    found = {}
    text = prometheus_text(await measurement(world)).decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample._replace(labels=collected(sample)))
    return found


def collected(sample):
    """Its labels, as they stand in Prometheus."""
    return {
        f"exported_{name}" if name in OF_PROMETHEUS else name: value
        for name, value in sample.labels.items()
    }


async def test_every_name_is_told_with_the_labels_that_are_asked_for(scraped):
    faults = []
    for panel in PANELS:
        for target in panel["targets"]:
            expression, asked = target["expr"], set()
            for labels in _BY.findall(expression):
                asked |= {each.strip() for each in labels.split(",")}
            asked |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            for name, matchers in _METRIC.findall(expression):
                samples = scraped.get(name, [])
                told = {label for sample in samples for label in sample.labels}
                wanted = asked - OF_PROMETHEUS
                pairs = dict(re.findall(r'(\w+)="([^"]*)"', matchers))
                if not samples or not wanted <= told:
                    faults.append(f"{panel['title']}: {name} {sorted(wanted - told)}")
                if pairs and not any(pairs.items() <= each.labels.items() for each in samples):
                    faults.append(f"{panel['title']}: {name} {pairs}")
    assert faults == []


def test_it_can_be_imported_as_it_is():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${datasource}"}
    assert [each["name"] for each in DASHBOARD["templating"]["list"]] == ["datasource"]
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        others = [each["gridPos"] for each in DASHBOARD["panels"] if each is not panel]
        assert not any(_overlap(place, other) for other in others), panel["title"]


def _overlap(one, other):
    return (
        one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]
    )  # fmt: skip


async def test_a_name_that_is_not_told_is_found(scraped):
    assert "bivouac_leader_present" in scraped
    assert "bivouac_nothing" not in scraped
