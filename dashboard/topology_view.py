"""What of the map of all nodes an address asks for.

In: a query. Out: a TopologyView, and an address again.
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import msgspec
from django.utils.translation import gettext_noop

from scheduler.structs.identity import JobKey

#: How nodes are put together: place, then rack in it.
GROUPS = {
    "rack": gettext_noop("datacenter, rack"),
    "class": gettext_noop("class, rack"),
    "pool": gettext_noop("pool, rack"),
    "datacenter": gettext_noop("datacenter, class"),
}


#: What darkness means.
MEASURES = {
    "memory": gettext_noop("memory allocated"),
    "cpu": gettext_noop("CPU allocated"),
    "fullest": gettext_noop("the fuller of both"),
    "memory-used": gettext_noop("memory used"),
    "cpu-used": gettext_noop("CPU used"),
}
#: Those that nodes tell with their heartbeats.
USED_MEASURES = frozenset({"memory-used", "cpu-used"})


#: Instead of an index of the past: the newest one, from which one looks back.
NOW = "now"


class TopologyView(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; "" means the default."""

    group: str = ""
    by: str = ""
    #: Only nodes of this class.
    node_class: str = ""
    #: The job that is lit up.
    namespace: str = ""
    job: str = ""
    #: Keys of what is selected: a rack, and a node in it.
    rack: str = ""
    node: str = ""
    #: `table` instead of the map.
    view: str = ""
    #: An index of the past, or `NOW`; "" for the map as it is.
    at: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "TopologyView":
        """From the address; a word that is no choice is as good as none."""
        found = {name: query.get(name, "").strip()[:200] for name in cls.__struct_fields__}
        found["group"] = found["group"] if found["group"] in GROUPS else ""
        found["by"] = found["by"] if found["by"] in MEASURES else ""
        found["view"] = found["view"] if found["view"] == "table" else ""
        found["at"] = found["at"] if found["at"] == NOW or _is_index(found["at"]) else ""
        return cls(**found)

    @classmethod
    def from_text(cls, text: str) -> "TopologyView":
        """From the key of a topic; the inverse of `text`. The past is not followed."""
        return cls.from_query({**dict(parse_qsl(text)), "at": ""})

    @property
    def text(self) -> str:
        """As an address and a topic say it."""
        fields = msgspec.structs.asdict(self)
        return urlencode({name: value for name, value in fields.items() if value})

    def address(self, **changes: str) -> str:
        """The page with these fields changed."""
        text = msgspec.structs.replace(self, **changes).text
        return f"/topology/?{text}" if text else "/topology/"

    @property
    def lit(self) -> JobKey | None:
        """The job that is lit up."""
        return JobKey(self.namespace, self.job) if self.job and self.namespace else None


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
