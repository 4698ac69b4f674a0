"""A root key of the cluster: it signs tokens, and its private half is nowhere in clear."""

from enum import StrEnum

from scheduler.structs.wire import Nanoseconds, Wire

#: What the reference calls every key, whatever else it is used for.
ALGORITHM = "aes256-gcm"


class RootKeyState(StrEnum):
    """What a key is used for; all but deprecated ones prove what was signed with them."""

    #: The one that signs.
    ACTIVE = "active"
    #: It signed once.
    INACTIVE = "inactive"
    #: It signed until a full rotation, which is under way.
    REKEYING = "rekeying"
    #: Known before it signs, so that who keeps a copy of the public keys has it by then.
    PREPUBLISHED = "prepublished"
    DEPRECATED = "deprecated"


class RootKey(Wire, frozen=True):
    """One key. Its private half is sealed under a key that the record does not hold."""

    key_id: str = ""
    algorithm: str = ALGORITHM
    state: str = RootKeyState.INACTIVE
    create_time: Nanoseconds = 0
    #: When it begins to sign; 0: it was never announced.
    publish_time: Nanoseconds = 0
    #: Never leaves the server.
    sealed: str = ""
    #: PEM.
    public_key: str = ""
    create_index: int = 0
    modify_index: int = 0

    @property
    def proves(self) -> bool:
        """Whether what it signed is believed."""
        return self.state != RootKeyState.DEPRECATED
