"""The identity that the server signed for a node, and its secret, which stands in for it.

In: identities as the server gives them, a place to keep the newest. Out: what to show, and what
the identity says. It is not judged here: whether it proves anything is the server's business.
"""

import logging
from collections.abc import Callable

from cluster.agent.agent_state import Storage
from cluster.keyring.tokens import TokenRefused, unproved

logger = logging.getLogger(__name__)

NO_IDENTITY = "node does not have a JWT identity token"
_SECOND = 1_000_000_000


class NodeIdentity:
    """What one node proves itself with."""

    def __init__(self, secret: str, storage: Storage, now: Callable[[], int]) -> None:
        self.secret = secret
        self._storage = storage
        self._now = now
        self._token = storage.load_identity()
        #: Somebody asked for another one.
        self.renewal_asked = False
        #: Told when that happens.
        self.wants_beat: Callable[[], None] = lambda: None

    @property
    def shown(self) -> str:
        """The identity while it holds, else the secret."""
        return self._token if self._holds() else self.secret

    @property
    def claims(self) -> dict[str, object] | None:
        """What the identity says, as far as its bearer can tell; None: there is none."""
        try:
            return unproved(self._token) if self._token else None
        except TokenRefused:
            return None

    def take(self, token: str) -> None:
        """Use a new one from now on; "" changes nothing."""
        if token:
            self._token = token
            self.renewal_asked = False
            self._keep(token)

    def refused(self, shown: str) -> bool:
        """The server does not believe what was shown; whether the secret is left to try."""
        if shown == self.secret:
            return False
        if shown == self._token:
            logger.warning("the server refuses this node's identity; it shows its secret again")
            self._token = ""
            self._keep("")
        return True

    def renew(self) -> None:
        """Have another one with the next beat, which comes at once."""
        self.renewal_asked = True
        self.wants_beat()

    def _keep(self, token: str) -> None:
        """A disk without room costs a new agent this identity; the secret gets it another."""
        try:
            self._storage.save_identity(token)
        except OSError as problem:
            logger.warning("the node's identity is not written down: %s", problem)

    def _holds(self) -> bool:
        ends = (self.claims or {}).get("exp")
        return isinstance(ends, int) and self._now() < ends * _SECOND
