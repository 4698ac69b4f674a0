"""Tags and filters of the pages: badge, time, units, ids, icons, graphs.

In: values as stored (ns, MHz, MiB, statuses). Out: markup without inline style or script,
everything escaped. Words, tones and icons come from `dashboard.labels`, the writing of values from
`wording`.
"""

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django import template
from django.contrib.staticfiles import finders
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import resolve
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from cluster.installation import typed, typed_start
from cluster.page_addresses import job_edit_url, job_url
from cluster.versions import VERSION
from dashboard import wording
from dashboard.graphs import placement
from dashboard.graphs.drawing import DrawnGraph
from dashboard.graphs.geometry import Graph
from dashboard.labels import Label, label_for
from dashboard.rights import word_of
from dashboard.script_texts import script_texts
from dashboard.tour import TourStep, step_of
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job

register = template.Library()

register.simple_tag(typed, name="typed")
register.simple_tag(typed_start, name="typed_start")
register.filter("number", wording.number)
register.filter("short_id", wording.short_id)
register.filter("short_actor", wording.short_actor)
register.filter("span", wording.span)
register.filter("clock_time", wording.clock_time)
register.filter("full_time", wording.full_time)


@register.simple_tag
def tour_step(request: HttpRequest, opens: Collection[str]) -> TourStep | None:
    """Where one is on the guided tour; None off it."""
    return step_of(request.GET.get("tour", ""), opens) if opens else None


@register.simple_tag
def version() -> str:
    """Of Bivouac, as `0.2.0`."""
    return VERSION


@register.filter
def milliseconds(nanoseconds: int) -> int:
    """For the browser, whose clock counts these."""
    return nanoseconds // 1_000_000


@register.filter
def clock_minutes(seconds: int) -> str:
    """`14:18`, of seconds since 1970; UTC."""
    return wording.clock_time(seconds * 1_000_000_000)[:5]


@register.filter
def mib(value: int) -> str:
    """Memory or disk: `312 MiB`."""
    return wording.amount(value, "MiB")


@register.filter
def mhz(value: int) -> str:
    """CPU: `600 MHz`."""
    return wording.amount(value, "MHz")


@register.filter
def counted(count: int, words: str) -> str:
    """`{{ 3|counted:"node" }}` gives `3 nodes`; an irregular plural follows a comma."""
    one, _, many = words.partition(",")
    forms = f"{{count}} {one}", f"{{count}} {many or one + 's'}"
    return wording.count_of(count, *forms)


@register.filter
def score(value: float) -> str:
    """A score with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", wording.MINUS)


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """One icon of the sprite; silent to screen readers unless it has a label."""
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="#i-{}"/></svg>', label, name
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def icon_sprite() -> SafeString:
    """The symbols of every icon and the graphs' arrowheads, once a page."""
    return mark_safe(_sprite())  # noqa: S308 - our own file, no input


@cache
def _sprite() -> str:
    path = finders.find("img/icons.svg")
    assert isinstance(path, str), "static/img/icons.svg is part of the product"
    return Path(path).read_text(encoding="utf-8")


@register.simple_tag(takes_context=True)
def list_row(context: template.Context, name: str, row: Mapping[str, Any]) -> SafeString:
    """A row of a list by the template of its kind, as frames render it."""
    return mark_safe(render_to_string(name, {**row, "now": context["now"]}))  # noqa: S308 - a rendered template


@register.inclusion_tag("dashboard/partials/_badge.html")
def badge(kind: str, status: str, word: str = "", *, large: bool = False) -> dict[str, Any]:
    """A status with edge, icon and word. `word` replaces the status's own word."""
    return _mark(label_for(kind, status), word) | {"is_large": large}


@register.inclusion_tag("dashboard/partials/_state.html")
def state(kind: str, status: str, word: str = "") -> dict[str, Any]:
    """A status in a table cell: icon and word, no edge."""
    return _mark(label_for(kind, status), word)


def _mark(label: Label, word: str) -> dict[str, Any]:
    return {"label": label, "word": word or gettext(label.word)}


@register.inclusion_tag("dashboard/partials/_notice.html")
def notice(kind: str, strong: str, text: str = "") -> dict[str, Any]:
    """A page-wide notice: strong clause, one sentence. Kinds: success, info, error and so on."""
    return {"label": label_for("notice", kind), "strong": strong, "text": text}


@register.inclusion_tag("dashboard/partials/_greyed.html")
def greyed(
    word: str, action: str, why: str, icon_name: str = "", css_class: str = ""
) -> dict[str, Any]:
    """A button that is not the viewer's: `why` is the id of the `denied` line beside it."""
    right = word_of(action)
    return {"word": word, "right": right, "why": why, "icon": icon_name, "css_class": css_class}


@register.inclusion_tag("dashboard/partials/_denied.html")
def denied(action: str, why: str, namespace: str = "") -> dict[str, Any]:
    """Which right the greyed buttons beside it need."""
    return {"right": word_of(action), "why": why, "namespace": namespace}


@register.inclusion_tag("dashboard/partials/_empty.html", takes_context=True)
def empty(
    context: template.Context,
    icon_name: str,
    title: str,
    text: str = "",
    url: str = "",
    action: str = "",
) -> dict[str, Any]:
    """What is absent, why or when it fills, and at most one button, if its address opens."""
    opens = context.get("opens")
    if action and opens is not None and resolve(url.partition("?")[0]).url_name not in opens:
        action = ""
    return {"icon": icon_name, "title": title, "text": text, "url": url, "action": action}


@register.inclusion_tag("dashboard/partials/_meter.html")
def meter(
    used: float, total: float, label: str, tone: str = "", extra: float = 0
) -> dict[str, Any]:
    """A bar of `used`, then `extra`, out of `total`; the label carries the number as text."""
    used = max(used, 0)
    whole = max(total, used + extra, 1)
    return {
        "used": f"{100 * used / whole:.2f}",
        "extra": f"{100 * extra / whole:.2f}" if extra else "",
        "label": label,
        "tone": tone,
    }


#: Where 0 is, between what speaks against a node and for it.
_AXIS = format_html('<line class="axis" x1="{0}" x2="{0}" y2="{1}"/>', "50%", "100%")


@register.simple_tag
def score_bar(value: float, has_below: bool, tone: str = "") -> SafeString:  # noqa: FBT001 - a template names none
    """The bar of a score: from the left, or from the middle where some are below 0."""
    start, width = placement.score_bar(value, has_below=has_below)
    middle = _AXIS if has_below else ""
    state = format_html(' data-state="{}"', tone) if tone else ""
    return format_html(
        '<svg class="meter" aria-hidden="true"{}>{}<rect class="used" x="{}%" width="{}%"'
        ' height="100%"/></svg>',
        state,
        middle,
        f"{start:g}",
        f"{width:g}",
    )


@register.inclusion_tag("dashboard/partials/_id.html")
def identifier(value: str, url: str = "", *, copy: bool = True) -> dict[str, Any]:
    """An id: eight characters, the whole in the title, a link and a copy button."""
    return {"full": value, "short": wording.short_id(value), "url": url, "has_copy": copy}


@register.simple_tag
def job_link(namespace: str, job_id: str) -> SafeString:
    """A job by its id, whatever characters that has; the dash where there is none."""
    if not job_id:
        return _none()
    return format_html('<a href="{}">{}</a>', job_url(JobKey(namespace, job_id)), job_id)


@register.simple_tag(name="script_texts")
def texts_of_scripts() -> dict[str, str]:
    """What the scripts show, in the page's language; nothing in English."""
    return script_texts()


@register.simple_tag
def edit_url(job: Job) -> str:
    """Where a job is edited."""
    return job_edit_url(job.key)


@register.simple_tag
def at(instant: int, *, milliseconds: bool = False) -> SafeString:
    """An instant as clock time, with date and zone in the title."""
    if not instant:
        return _none()
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        wording.machine_time(instant),
        wording.full_time(instant),
        wording.clock_time(instant, with_milliseconds=milliseconds),
    )


@register.simple_tag
def ago(instant: int, now: int) -> SafeString:
    """An instant as its age (or `in ...`), kept current by the browser."""
    if not instant:
        return _none()
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>',
        wording.machine_time(instant),
        wording.full_time(instant),
        wording.age(instant, now),
    )


def _none() -> SafeString:
    return format_html('<span class="quiet">{}</span>', wording.NONE)


@register.inclusion_tag("dashboard/partials/_graph.html")
def graph(value: Graph, css_class: str = "graph-map", name: str = "graph") -> dict[str, Any]:
    """A graph as SVG; the browser finds its elements by keys and keeps them current."""
    drawing = DrawnGraph(value).whole()
    return {
        "title": value.title,
        "drawing": drawing,
        "layers": {
            layer: mark_safe("".join(elements))  # noqa: S308 - graphs.svg escapes every name
            for layer, elements in drawing.layers.items()
        },
        "css_class": css_class,
        "name": name,
    }


@register.inclusion_tag("dashboard/partials/_nav_link.html", takes_context=True)
def nav_link(
    context: template.Context, url: str, icon_name: str, word: str, key: str, also: str = ""
) -> dict[str, Any]:
    """One entry of the navigation: marked when the page lies under it; count from `nav_counts`.

    `also`: beginnings of further addresses that lie under it.
    """
    request = context.get("request")
    path = getattr(request, "path", "")
    below = (*also.split(), *([url] if url != "/" else []))
    counts = context.get("nav_counts") or {}
    return {
        "url": url,
        "icon": icon_name,
        "word": gettext(word),
        "key": key,
        "is_current": path == url or path.startswith(below),
        "count": counts.get(word),
        "lost": counts.get(f"{word} lost"),
    }
