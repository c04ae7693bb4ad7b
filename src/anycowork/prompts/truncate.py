"""Truncates a long text for the model: head and tail stay, and a note says how much is missing and how to get it. Pure."""

from anycowork.prompts.tokens import size

SMALLEST = 200  # bytes; less would hold the note and nothing of the text
_HEAD = 0.6
_NEAR = 200  # a cut moves this far at most to fall on the end of a line


def cut_middle(text: str, limit: int, *, way_out: str) -> str:
    """At most `limit` bytes of this text (a limit below `SMALLEST` is taken for that), or the text itself if it fits."""
    total, limit = size(text), max(limit, SMALLEST)
    if total <= limit:
        return text
    budget = limit - size(_note(total, total, way_out))
    data = text.encode("utf-8", "surrogatepass")
    head = _to_line_end(data[: int(budget * _HEAD)])
    tail = _from_line_start(data[total - (budget - int(budget * _HEAD)) :])
    return f"{head}{_note(total - size(head) - size(tail), total, way_out)}{tail}"


def _note(cut: int, total: int, way_out: str) -> str:
    return f"\n[cut {cut} of {total} bytes; {way_out}]\n"


def _to_line_end(data: bytes) -> str:
    end = data.rfind(b"\n", max(0, len(data) - _NEAR))
    return (data[:end] if end > 0 else data).decode("utf-8", "ignore")


def _from_line_start(data: bytes) -> str:
    start = data.find(b"\n", 0, _NEAR)
    return data[start + 1 :].decode("utf-8", "ignore")
