"""What a web process loads before anybody asks for a page."""

import subprocess
import sys

_SCRIPT = """
import sys
import django
django.setup()
from dashboard import wiring
assert "dashboard.views.stories" not in sys.modules
wiring.warm_up()
assert "dashboard.views.stories" in sys.modules
from django.template.engine import Engine
(loader,) = Engine.get_default().template_loaders
names = {key for key in loader.get_template_cache}
assert "dashboard/story.html" in names, names
assert "dashboard/partials/_story_head.html" in names, names
"""


def test_after_the_warm_up_the_first_page_loads_nothing_any_more():
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
