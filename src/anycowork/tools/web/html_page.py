"""An HTML page as Markdown, without what no browser shows. Loaded by the child process of a page alone; it trusts nothing in the page."""

import re
from urllib.parse import urljoin, urlsplit

from turbohtml import Document, Element, Markdown, parse

_NEVER_SHOWN = (
    "[hidden], script, style, template, noscript, svg, iframe, object, video, audio, canvas, dialog:not([open])"
)
_HIDING_STYLE = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+(?:hidden|collapse)"
    r"|(?:font-size|opacity)\s*+:\s*+(?:0++(?:\.0*+)?|\.0++)(?![\d.])",
    re.IGNORECASE,
)
# A link that only needs the page's folder or host in front: a hundred times as fast as `urljoin`.
_PLAIN_LINK = re.compile(r"/?[\w%~+-]++(?:[./][\w%~+-]++)*+/?(?:[?#][\w%~+=&;,.-]*+)?")
_MOST_COLUMNS = 20
_MOST_ADDED_CELLS = 20_000
_MARKDOWN = Markdown(images=Markdown.Images(mode="ignore"), tables=Markdown.Tables(cell_blocks="text"))


def markdown_of(html: str, address: str) -> str:
    document = parse(html, positions=False, allow_declarative_shadow_roots=False, scripting=True)
    document.remove(_NEVER_SHOWN)
    for element in document.select("[style]"):
        if _HIDING_STYLE.search(_attribute(element, "style")):
            element.decompose()
    _even_out_tables(document)
    base = document.select_one("base[href]")
    _resolve_links(document, address if base is None else _joined(address, _attribute(base, "href")))
    return str(document.to_markdown(_MARKDOWN))


def _attribute(element: Element, name: str) -> str:
    return str(element.attrs.get(name) or "")


def _even_out_tables(document: Document) -> None:
    """Gives every row of a table as many cells: a table without is not written as Markdown, and keeps its attributes, which nobody sees."""
    added = 0
    for cell in document.select("[colspan], [rowspan]"):
        columns = _attribute(cell, "colspan")
        cell.attrs.pop("colspan", None)
        cell.attrs.pop("rowspan", None)
        count = min(int(columns), _MOST_COLUMNS) - 1 if re.fullmatch("[0-9]{1,4}", columns) else 0
        if cell.tag in ("td", "th") and added < _MOST_ADDED_CELLS:
            added += count
            for _ in range(count):
                cell.insert_after(Element("td"))
    rows = [(row, row.closest("table"), _cell_count(row)) for row in document.select("tr")]
    widths: dict[Element | None, int] = {}
    for _, table, count in rows:
        widths[table] = max(widths.get(table, 0), count)
    for row, table, count in rows:
        missing = min(widths[table] - count, _MOST_ADDED_CELLS - added)
        added += missing
        for _ in range(missing):
            row.append(Element("td"))


def _cell_count(row: Element) -> int:
    return sum(isinstance(child, Element) for child in row.children)


def _resolve_links(document: Document, address: str) -> None:
    parts = urlsplit(address)
    host = f"{parts.scheme}://{parts.netloc}"
    folder = f"{host}{parts.path.rpartition('/')[0]}/"

    def resolved(link: str) -> str | None:
        if link.startswith(("https://", "http://")):
            return None
        if _PLAIN_LINK.fullmatch(link):
            return (host if link.startswith("/") else folder) + link
        return _joined(address, link)

    document.rewrite_links(resolved)


def _joined(address: str, link: str) -> str:
    try:
        return urljoin(address, link)
    except ValueError:
        return link
