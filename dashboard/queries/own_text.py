"""A text of somebody's own beside the registered version of a job.

In: nothing. Out: what was typed, and what was found; the template is `_own_text.html`.
"""

import msgspec

from dashboard.queries.submission import Finding, Review


class OwnText(msgspec.Struct, frozen=True, kw_only=True):
    """A text as it was sent; as the form opens, it is empty."""

    text: str = ""
    variables: str = ""
    #: What is wrong with it, and what its author should know.
    findings: tuple[Finding, ...] = ()
    #: What differs, and what running it would do; None before it is asked, or where it cannot be.
    review: Review | None = None
