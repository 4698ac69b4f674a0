"""`manage.py makemessages`: gathers the texts of pages to be translated."""

from django.core.management.commands.makemessages import Command as MakeMessages


class Command(MakeMessages):
    """Django's own; it knows the functions of ours that take both forms of a text."""

    xgettext_options = [
        *MakeMessages.xgettext_options,
        "--keyword=count_of:2,3",
        "--keyword=plural:1,2",
    ]
