"""The one table of what is followed: whole, and without two things in one place."""

from pathlib import Path

import pytest
from django.template.loader import get_template

from dashboard.panels import FOLLOWED, feed_for
from dashboard.subscription import Subscription

DECLARED = [
    pytest.param(followed, id=kind)
    for kind, of_all in FOLLOWED.items()
    for followed in (of_all, of_all.of_one)
    if followed is not None
]


@pytest.mark.parametrize("followed", DECLARED)
def test_every_declared_part_has_a_template_and_a_place_of_its_own(followed):
    for part in (*followed.panels, *followed.lists):
        get_template(part.template)
    places = [panel.target for panel in followed.panels]
    places += [rows.container for rows in followed.lists]
    assert len(places) == len(set(places))


@pytest.mark.parametrize("panel", [p for each in DECLARED for p in each.values[0].panels])
def test_a_panel_renders_the_element_it_replaces(panel):
    markup = Path(get_template(panel.template).origin.name).read_text()
    assert f'id="{panel.target}"' in markup or "{{ id }}" in markup


def test_a_topic_that_may_name_one_thing_opens_another_feed_for_it():
    every, one = (feed_for(Subscription("drains", key, None)) for key in ("", "n1"))
    assert [panel.target for panel in every.panels] == ["drains-told", "drain-list"]
    assert [panel.target for panel in one.panels] == ["drain-head", "board"]


def test_what_nothing_is_declared_for_cannot_be_followed():
    with pytest.raises(KeyError):
        feed_for(Subscription("secrets", "", None))
