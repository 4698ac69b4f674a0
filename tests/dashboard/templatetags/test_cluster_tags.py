import re

import pytest
from django.template import Context, Template

from dashboard.graphs.lifecycle_map import lifecycle_map

HOSTILE = '"><script>alert(1)</script>'


def written(text, **context):
    """As a browser reads it: where a template breaks its lines says nothing."""
    html = Template("{% load cluster_tags %}" + text).render(Context(context))
    return re.sub(r"[ \n]+", " ", html).strip()


def test_a_badge_has_edge_icon_and_word():
    assert written('{% badge "evaluation" "scheduling" %}') == (
        '<span class="badge" data-state="scheduling" data-quasi>'
        '<svg class="icon" aria-hidden="true"><use href="#i-scheduling"/></svg>scheduling</span>'
    )


def test_an_instant_carries_zone_and_machine_form():
    now = 1_795_270_711_902_000_000
    assert written("{% ago instant now %}", instant=now - 41_000_000_000, now=now) == (
        '<time datetime="2026-11-21T14:17:50.902Z" title="21 Nov 2026 14:17:50 UTC" data-relative>'
        "41 s</time>"
    )
    assert written("{% at 0 %}") == '<span class="quiet">\N{EN DASH}</span>'


def test_an_id_is_short_and_whole():
    html = written('{% identifier value "/x/" %}', value="3f2a91c4-7d0e")
    assert '<a class="id" href="/x/" title="3f2a91c4-7d0e">3f2a91c4</a>' in html
    assert 'data-copy="3f2a91c4-7d0e"' in html


def test_a_job_is_linked_whatever_its_id_holds():
    html = written("{% job_link namespace job %}", namespace="default", job="a/b#c?d%e&f")
    assert html == '<a href="/jobs/default/a/b%23c%3Fd%25e%26f/">a/b#c?d%e&amp;f</a>'
    assert written("{% job_link 'default' '' %}") == '<span class="quiet">\N{EN DASH}</span>'


def test_a_meter_never_exceeds_its_width():
    html = written('{% meter 30 10 "3 of 1" extra=10 %}')
    assert 'width="75.00%"' in html
    assert 'x="75.00%" width="25.00%"' in html


def test_units_keep_number_and_unit_together():
    assert written("{{ 1512|mib }} {{ 600|mhz }} {{ 3|counted:'node' }}") == (
        "1\u202f512\xa0MiB 600\xa0MHz 3 nodes"
    )


def test_a_graph_is_drawn_with_keys_and_no_inline_style():
    html = written('{% graph graph name="map" %}', graph=lifecycle_map({"pending": 2}, {}))
    assert 'data-graph="map"' in html
    assert 'data-key="pending" data-state="pending"' in html
    assert "style=" not in html


@pytest.mark.parametrize(
    "text",
    [
        '{% badge "evaluation" value %}', '{% state "node" value %}', "{% identifier value %}",
        "{% job_link value value %}",
        '{% notice "error" value value %}', '{% empty "job" value value value value %}',
        '{% meter 1 2 value %}', "{% icon value value %}",
    ],
)  # fmt: skip
def test_no_value_becomes_markup(text):
    assert "<script>" not in written(text, value=HOSTILE)
