"""Tokens of programs and people, and the roles they may have: what gives its bearer rights.

No struct holds a secret, or what a secret is compared with.
"""

from enum import StrEnum

from scheduler.structs.wire import Duration, Instant, Wire


class TokenType(StrEnum):
    """Whether a token may do everything, or what its policies and roles say."""

    CLIENT = "client"
    MANAGEMENT = "management"


class RoleLink(Wire, frozen=True):
    """A role that a token has; the name is that of the day it was given."""

    id: str = ""
    name: str = ""


class AclToken(Wire, frozen=True):
    """A token, found by what it is called in public: its accessor."""

    accessor_id: str = ""
    name: str = ""
    type: str = TokenType.CLIENT
    policies: tuple[str, ...] = ()
    roles: tuple[RoleLink, ...] = ()
    #: Of all regions. There is one region; the word is kept for those who gave it.
    global_: bool = False
    create_time: Instant = 0
    #: 0: never.
    expiration_time: Instant = 0
    #: What was asked for when it was made; 0 when nothing was.
    expiration_ttl: Duration = 0
    create_index: int = 0
    modify_index: int = 0

    @property
    def id(self) -> str:
        """What lists in order of creation name it by."""
        return self.accessor_id

    @property
    def is_management(self) -> bool:
        """Whether its bearer may do everything."""
        return self.type == TokenType.MANAGEMENT

    def is_expired(self, now: int) -> bool:
        """Whether it opens nothing any more."""
        return 0 < self.expiration_time <= now


class PolicyLink(Wire, frozen=True):
    """A policy that a role has, by name; it may be gone."""

    name: str = ""


class AclRole(Wire, frozen=True):
    """Policies under one name, for tokens that shall have all of them."""

    id: str = ""
    name: str = ""
    description: str = ""
    policies: tuple[PolicyLink, ...] = ()
    create_index: int = 0
    modify_index: int = 0


class AclBootstrap(Wire, frozen=True):
    """That there was a first management token, and under which index the last such start was."""

    reset_index: int = 0
