"""What mkdocs adds to the site of the documentation.

The documents that lie beside the sources become pages of it, links between them and `docs/` lead
there, and a link to a source becomes its name, as the site holds no sources. Mermaid, which the
tests keep anyway, draws what is text.
"""

import lzma
import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parent.parent
_MERMAID = _ROOT / "tests" / "live" / "vendor" / "mermaid" / "mermaid-11.17.2.min.js.xz"
#: Folder of the site in which these stand under their own paths.
BESIDE = "sources"
BESIDE_THE_SOURCES = (
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "scheduler/README.md",
    "cluster/README.md", "dashboard/README.md", "bivouac/README.md",
)  # fmt: skip
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])+)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)"
)
_PICTURE = re.compile(r'(!\[[^\]]*\]\(|<img [^>]*?src=")(?!https?:)([^)"\s]+)')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by mkdocs before it builds."""
    script = lzma.decompress(_MERMAID.read_bytes())
    files.append(File.generated(config, "theme/mermaid.min.js", content=script))
    tokens = (_ROOT / "static" / "css" / "tokens.css").read_text()
    files.append(File.generated(config, "theme/tokens.css", content=tokens))
    for name in BESIDE_THE_SOURCES:
        text = (_ROOT / name).read_text()
        files.append(File.generated(config, f"{BESIDE}/{name}", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Called by mkdocs with the text of each page."""
    del config, files
    here = PurePosixPath(page.file.src_uri)
    told = _LINK.sub(lambda found: _link(here, found[1], found[2], found[3] or ""), markdown)
    return _PICTURE.sub(lambda found: found[1] + (_to(here, found[2]) or found[2]), told)


def _link(here: PurePosixPath, text: str, target: str, anchor: str) -> str:
    leads = _to(here, target)
    return text if leads is None else f"[{text}]({leads}{anchor})"


def _to(here: PurePosixPath, target: str) -> str | None:
    """The same link as seen on the site; None for what is not there."""
    is_beside = here.parts[0] == BESIDE
    origin = here.relative_to(BESIDE) if is_beside else PurePosixPath("docs") / here
    path = PurePosixPath(os.path.normpath(origin.parent / target))
    if path.parts[0] == "docs":
        wanted = path.relative_to("docs")
        if not (_ROOT / path).is_file():
            return None
    elif str(path) in BESIDE_THE_SOURCES:
        wanted = PurePosixPath(BESIDE) / path
    else:
        return None
    return os.path.relpath(wanted, here.parent)
