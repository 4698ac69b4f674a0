"""GET /v1/metrics: the numbers of the cluster, as JSON and for collectors (doors.md 16).

In: nothing but the form. Out: what was measured within the last interval, so that many collectors
cost as much as one. Anybody is told sums; names of jobs and nodes go to whoever has `agent:read`.
"""

import math
import re
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from prometheus_client import PROCESS_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cluster.api.metric_values import Counter, Measurement, Times, measured
from cluster.api.request import Call, counted
from cluster.api.respond import answer_bytes, answer_json
from cluster.api.server_group import group_faults
from cluster.operations.errors import NotAllowed
from cluster.store.leader_news import read_news
from cluster.store.ports import RecordReader
from scheduler.access.caller import ANONYMOUS, Caller

#: A measurement is told for so long.
INTERVAL_NS = 10 * 1_000_000_000
_QUANTILES = (0.5, 0.9, 0.99)
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
_WHAT = "See docs/metrics.md."


class _Kept:
    """The newest measurement of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.newest: Measurement | None = None


_KEPT = _Kept()


async def metrics(call: Call) -> HttpResponse:
    """GET /v1/metrics, with `format=prometheus` as text."""
    now = call.now

    def work(reader: RecordReader) -> Measurement:
        return _measured(reader, now)

    found = await call.read(work)
    if not (await _scraper(call)).access.reads("agent"):
        found = found.without_names()
    if call.query.get("format") == "prometheus":
        return answer_bytes(call.request, prometheus_text(found), _TEXT)
    return answer_json(call.request, json_form(found))


async def _scraper(call: Call) -> Caller:
    """Who asks; whoever shows a token that opens nothing is told what everybody is."""
    try:
        return await counted(call.request)
    except NotAllowed:
        return ANONYMOUS


def forget_measured() -> None:
    """Measure anew at the next question."""
    _KEPT.newest = None


def json_form(found: Measurement) -> dict[str, Any]:
    """As the reference tells one interval: numbers by name, times as sums over it."""
    labels = {"host": socket.gethostname()}
    gauges = [
        {"Name": gauge.name, "Value": float(gauge.value), "Labels": {**labels, **gauge.labels}}
        for gauge in found.gauges
    ]
    return {
        "Timestamp": f"{datetime.fromtimestamp(found.at // 1_000_000_000, UTC):%F %T} +0000 UTC",
        "Gauges": sorted(gauges, key=lambda each: (each["Name"], sorted(each["Labels"].items()))),
        "Points": [],
        "Counters": [
            {**told, "Labels": {**labels, **counter.labels}}
            for counter in found.counters
            if (told := _summed(_each_as_one(counter), found.at)) is not None
        ],
        "Samples": [
            {**told, "Labels": labels}
            for times in found.times
            if (told := _summed(times, found.at)) is not None
        ],
        "PrecisionGauges": [],
    }


def prometheus_text(found: Measurement) -> bytes:
    """The text form, with what the library tells of this process."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Measured(found))
    process = CollectorRegistry(auto_describe=False)
    process.register(PROCESS_COLLECTOR)
    return bytes(generate_latest(registry)) + bytes(generate_latest(process))


class _Measured(Collector):
    """A measurement in the library's own form."""

    def __init__(self, found: Measurement) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """One family for each name."""
        families: dict[str, Metric] = {}
        for gauge in self._found.gauges:
            _family(families, gauge.name, "gauge").add_sample(
                text_name(gauge.name), dict(gauge.labels), gauge.value
            )
        for counter in self._found.counters:
            if counter.total is not None:
                # Of no type: that of counters would have the library put `_total` to the name.
                _family(families, counter.name, "unknown").add_sample(
                    text_name(counter.name), dict(counter.labels), counter.total
                )
        for times in self._found.times:
            family = _family(families, times.name, "summary")
            values = sorted(value for _, value in times.values)
            for share in _QUANTILES:
                place = math.ceil(share * len(values)) - 1
                labels = {"quantile": f"{share:g}"}
                family.add_sample(text_name(times.name), labels, values[max(0, place)])
        yield from families.values()


def text_name(name: str) -> str:
    """A dotted name as collectors have it."""
    return _NOT_IN_NAMES.sub("_", name)


def _family(families: dict[str, Metric], name: str, kind: str) -> Metric:
    if name not in families:
        families[name] = Metric(text_name(name), _WHAT, kind)
    return families[name]


def _measured(reader: RecordReader, now: int) -> Measurement:
    with _KEPT.lock:
        newest = _KEPT.newest
        if newest is None or not 0 <= now - newest.at < INTERVAL_NS:
            news = read_news(settings.BIVOUAC_REDIS_URL)
            most = settings.BIVOUAC_METRICS_OBJECTS
            newest = measured(reader, news, most=most, now=now, is_well=not group_faults())
            _KEPT.newest = newest
        return newest


def _each_as_one(counter: Counter) -> Times:
    return Times(counter.name, tuple((at, 1.0) for at in counter.at))


def _summed(times: Times, at: int) -> dict[str, Any] | None:
    """What ended within the interval before `at`; None: nothing did."""
    values = [value for ended, value in times.values if at - INTERVAL_NS < ended <= at]
    if not values:
        return None
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1))
    return {
        "Name": times.name,
        "Count": len(values),
        "Rate": sum(values) / (INTERVAL_NS / 1_000_000_000),
        "Sum": sum(values),
        "Min": min(values),
        "Max": max(values),
        "Mean": mean,
        "Stddev": spread if len(values) > 1 else 0.0,
    }
