"""The moment at which this process begins to serve."""

import sys
from collections.abc import Callable


def once_serving(begin: Callable[[], None]) -> None:
    """Call `begin` once the server's loop runs; where no server is loading us, never."""
    # Daphne tells nobody that it serves, but its reactor has been installed by now.
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.callLater(0, begin)
