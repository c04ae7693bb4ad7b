"""What a program printed, as text that is safe to show: without its colours and other terminal escapes. Pure and linear."""

import re

from anycowork.domain.visible_text import UntrustedText, VisibleText, visible

# A control sequence, a string such as a title or a link, or one that is shorter. No quantifier gives back what it took.
_ESCAPE = re.compile(r"\x1b(?:\[[ -?]{0,4096}+[@-~]?|[\]PX^_][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)?|[()#]?[^\x1b\n]?)")


def printed_text(raw: str) -> VisibleText:
    """Return what would be left on a screen: of a line that was written anew, as by a progress bar, the last writing."""
    plain = _ESCAPE.sub("", raw).replace("\r\n", "\n") if "\x1b" in raw or "\r" in raw else raw
    lines = [line.removesuffix("\r").rpartition("\r")[2] for line in plain.split("\n")] if "\r" in plain else [plain]
    return visible(UntrustedText("\n".join(lines)))
