"""Parses plain English into intents. Pure, and careful: what is not clearly one of the known intents is reported as unclear."""

import re

from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value
from anycowork.providers.guide.grammar import MARK, Quotes, intents_in
from anycowork.providers.guide.intents import Intent

LONGEST_TEXT = 50_000  # characters, quotations included
MAX_REQUEST = 4_000  # characters without quotations: a longer text is not a plain request, and matching it takes time
MAX_CLAUSES = 30


@value
class GuideRequest:
    """`planned`: the person asked for a plan. `unclear`: the parts that were not understood, as the person wrote them."""

    intents: tuple[Intent, ...] = ()
    unclear: tuple[str, ...] = ()
    planned: bool = False
    help: bool = False


def understand(text: str) -> GuideRequest:
    """Returns every intent in this text, in order. Never raises."""
    if len(text) > LONGEST_TEXT:
        return GuideRequest(unclear=(f"{text[:MAX_REQUEST]} …",))
    quotes = Quotes(text)
    if len(quotes.masked) > MAX_REQUEST:
        return GuideRequest(unclear=(text,))
    body = _strip_politeness(quotes.masked)
    planned = _PLAN.match(body)
    if planned:
        body = body[planned.end() :]
    clauses = [clause for part in _JOINTS.split(body) if (clause := _strip_politeness(part))]
    if not clauses or all(_HELP.fullmatch(clause) for clause in clauses):
        return GuideRequest(help=True, planned=bool(planned))
    intents: list[Intent] = []
    unclear: list[str] = []
    for clause in clauses[:MAX_CLAUSES]:
        clause_intents = intents_in(clause, quotes)
        intents += clause_intents
        if not clause_intents:
            unclear.append(quotes.open(clause))
    unclear += [quotes.open(clause) for clause in clauses[MAX_CLAUSES:]]
    return GuideRequest(tuple(intents), tuple(unclear), planned=bool(planned))


# --- from a text to its clauses

_I = re.IGNORECASE
_PLAN = late_pattern(
    r"(?:(?:make|write|draft|give me|prepare|create|propose)\s+)?(?:(?:a|the)\s+)?plan\b(?!\.\w)\s*(?:how\s+to|to|for|that|:)?\s*",
    _I,
)
_JOINTS = late_pattern(
    rf"\s*(?:;|\n|[,.]?\s+(?:and\s+then|then|after\s+that|afterwards|finally)\b,?|,?\s+and\s+(?=(?:run|execute)\s+{MARK}))\s*",
    _I,
)
_MANNERS = late_pattern(
    r"^(?:\s*(?:\d+[.)]|[-*•])\s+"
    r"|(?:please|kindly|now|first|next|then|finally|and|ok(?:ay)?|hey|hi|hello)\b[,:]?\s+"
    r"|(?:can|could|would|will)\s+you\s+|(?:i\s+(?:want|would\s+like|need)|i'd\s+like)\s+(?:you\s+)?to\s+|let(?:'s|\s+us)\s+)",
    _I,
)
_HELP = late_pattern(
    r"(?:help(?:\s+me)?|hi|hello|hey|good\s+\w+|what\s+can\s+you\s+do(?:\s+for\s+me)?|who\s+are\s+you|what\s+are\s+you|how\s+does\s+this\s+work)\W*",
    _I,
)


def _strip_politeness(text: str) -> str:
    """Removes 'please', 'can you', list bullets, and the full stop."""
    text = text.strip()
    while polite := _MANNERS.match(text):
        text = text[polite.end() :].strip()
    text = re.sub(r"[ ,]{0,3}\bplease[.!?]{0,3}$", "", text, flags=_I)
    return re.sub(r"(?<![\s.!?])[.!?]{1,3}$", "", text)
