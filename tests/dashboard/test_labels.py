import re
from pathlib import Path

import pytest

from dashboard.labels import LABELS, Label, label_for
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.node import NodeStatus

ROOT = Path(__file__).resolve().parents[2]
TONES = set(re.findall(r'\[data-state="([^"]+)"\]', (ROOT / "static/css/tokens.css").read_text()))
ICONS = set(re.findall(r'id="i-([^"]+)"', (ROOT / "static/img/icons.svg").read_text()))


@pytest.mark.parametrize(
    ("kind", "statuses"),
    [
        ("evaluation", EvalStatus),
        ("allocation", ClientStatus),
        ("desired", DesiredStatus),
        ("node", NodeStatus),
        ("deployment", DeploymentStatus),
    ],
)
def test_every_stored_status_has_a_label(kind, statuses):
    assert {status.value for status in statuses} <= LABELS[kind].keys()


@pytest.mark.parametrize("kind", sorted(LABELS))
def test_every_tone_and_icon_exists(kind):
    for label in LABELS[kind].values():
        assert (label.tone in TONES, label.icon in ICONS) == (True, True), label


def test_an_unknown_status_keeps_its_word():
    assert label_for("node", "melted") == Label("melted", "unknown", "unknown")
    assert label_for("event", "node-update") == Label("node-update", "event", "event")
