"""What marks a text for translation, for modules that know nothing else of Django.

In: an English text. Out: the text of the language in force; for `gettext_noop` the same text,
which is translated where it is shown.
"""

from django.utils.translation import gettext, gettext_noop, ngettext

__all__ = ["gettext", "gettext_noop", "ngettext", "plural"]


def plural(one: str, many: str) -> tuple[str, str]:
    """Two forms of a text in a table, for `ngettext` and `wording.count_of`."""
    return one, many
