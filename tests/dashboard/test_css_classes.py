"""Every class that a template names has a rule in a style sheet, ours or one of Django's admin.

A class that nobody styles is a slip of the pen, or what is left of something that is gone.
"""

import re
from pathlib import Path

from django.contrib import admin

ROOT = Path(__file__).resolve().parents[2]
#: Under the templates of the admin stand Django's own sheets.
SHEETS = (ROOT / "static/css", Path(admin.__file__).parent / "static/admin/css")
TAG = re.compile(r"{%.*?%}|{#.*?#}", re.DOTALL)
CLASS = re.compile(r'(?<![-\w])class="((?:[^"{]|{{.*?}}|{%.*?%})*)"', re.DOTALL)


def styled():
    """Classes that have a rule."""
    found = set()
    for sheet in (each for folder in SHEETS for each in folder.rglob("*.css")):
        text = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", sheet.read_text(), flags=re.DOTALL)
        found |= set(re.findall(r"\.(-?[a-zA-Z_][\w-]*)", text))
    return found


def named():
    """Classes in the templates, with where; a part that is made while rendering ends a word."""
    for path in (ROOT / "templates").rglob("*.html"):
        for told in CLASS.findall(path.read_text()):
            words = TAG.sub(" ", re.sub(r"[\w-]*{{.*?}}[\w-]*", " ", told)).split()
            yield from ((word, path.relative_to(ROOT)) for word in words)


def test_every_class_of_a_template_has_a_style():
    known = styled()
    assert sorted({f"{name} in {path}" for name, path in named() if name not in known}) == []
