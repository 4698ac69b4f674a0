import sys

import pytest

from cluster.bench.browser import BrowserMissing, signed_in
from cluster.bench.moments import Moments
from cluster.bench.target import NotSettled, Target


def test_without_playwright_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(BrowserMissing, match="make setup-dev"), signed_in("http://nowhere", ""):
        pass


def test_without_a_browser_one_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BrowserMissing, match="chromium"), signed_in("http://nowhere", ""):
        pass


def test_the_record_of_another_cluster_is_out_of_reach():
    with pytest.raises(NotSettled, match="without --addr"):
        Moments(Target("http://elsewhere", "token", "join"))
