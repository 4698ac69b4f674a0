"""Why nobody could be signed in by a token of elsewhere."""


class LoginRefused(Exception):
    """The token does not prove what it says; the message says why, in the reference's words."""


class ClaimsUnreadable(Exception):
    """The token is good, but what it says cannot be used; the message names the claim."""


class IssuerUnreachable(Exception):
    """What would prove it could not be had from elsewhere; the message names the address."""
