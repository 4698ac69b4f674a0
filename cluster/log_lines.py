"""What must not stand in a log: the secrets of links, which are parts of addresses."""

import logging
import re

_LINK = re.compile(r"/login/once/[^\s\"'?]+")


class HideLinks(logging.Filter):
    """Takes the secret out of one-time login links; faults are logged with their address."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes, some of them shortened."""
        text = record.getMessage()
        if "/login/once/" in text:
            record.msg, record.args = _LINK.sub("/login/once/...", text), ()
        return True
