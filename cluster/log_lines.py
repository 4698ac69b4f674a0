"""What a log must not hold: the secrets of links; and what only its followers are told."""

import logging
import re
from http import HTTPStatus

_LINK = re.compile(r"/login/once/[^\s\"'?]+")
#: What a provider sends a browser back with.
_BACK = re.compile(r"/login/provider/back\?[^\s\"']+")

#: A line for each request of the API that has ended, for those who follow the log at `debug`; the
#: log itself gets none. Written only while somebody listens.
REQUESTS = logging.getLogger("http")
REQUESTS.propagate = False
REQUESTS.setLevel(logging.DEBUG)
#: What an agent tells its followers alone: the events of its tasks, the calls it has answered.
FOR_FOLLOWERS = logging.getLogger("client")
FOR_FOLLOWERS.propagate = False
FOR_FOLLOWERS.setLevel(logging.DEBUG)


def without_links(text: str) -> str:
    """The text with nothing in it that signs anybody in."""
    return _BACK.sub("/login/provider/back?...", _LINK.sub("/login/once/...", text))


class HideLinks(logging.Filter):
    """Takes the secrets out of addresses that sign in; faults are logged with their address."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes, some of them shortened."""
        text = record.getMessage()
        if "/login/once/" in text or "/login/provider/back?" in text:
            record.msg, record.args = without_links(text), ()
        return True


def is_fault(record: logging.LogRecord) -> bool:
    """Whether an answer that is logged tells of a fault: what is not built (501) is none.

    Its routes are open to whoever asks, who could fill the log.
    """
    return getattr(record, "status_code", 0) != HTTPStatus.NOT_IMPLEMENTED
