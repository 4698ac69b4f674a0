"""`docs/compatibility.md` against the code it speaks of."""

from cluster.api import urls
from cluster.api.not_built import NOT_BUILT
from cluster.api.request import unknown_path
from tests.compatibility import DOCUMENT, endpoints, rewritten, views_of

#: Below it what no other route has is refused in words of its own.
UNKNOWN_BELOW = r"^operator/(?:raft|autopilot)/[\s\S]*\Z"
ANEW = "`python -m tests.compatibility` writes the tables anew"


def test_the_tables_say_what_the_code_does():
    text = DOCUMENT.read_text()
    assert text == rewritten(text), ANEW


def test_every_route_is_read_and_every_refusal_told():
    *routes, last = urls.urlpatterns
    assert last.callback is unknown_path
    assert [str(route.pattern) for route in routes if not views_of(route.callback)] == [
        UNKNOWN_BELOW
    ]
    told = "\n".join(endpoints())
    assert [sentence for sentence in NOT_BUILT.values() if sentence not in told] == []
