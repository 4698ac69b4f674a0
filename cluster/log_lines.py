"""What must not stand in a log: the secrets of links, which are parts of addresses."""

import logging
import re

_LINK = re.compile(r"/login/once/[^\s\"'?]+")
#: What a provider sends a browser back with.
_BACK = re.compile(r"/login/provider/back\?[^\s\"']+")


class HideLinks(logging.Filter):
    """Takes the secrets out of addresses that sign in; faults are logged with their address."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes, some of them shortened."""
        text = record.getMessage()
        if "/login/once/" in text:
            record.msg, record.args = _LINK.sub("/login/once/...", text), ()
        elif "/login/provider/back?" in text:
            record.msg, record.args = _BACK.sub("/login/provider/back?...", text), ()
        return True
