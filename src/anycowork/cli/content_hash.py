"""The hash by which a person says what they have read: enough of its digits that nobody can make two contents that begin alike."""

from anycowork.domain.errors import ContentChanged, Invalid

SHOWN = 32  # digits, 128 bits: two contents that share 12 digits are found in seconds, and one takes the other's place unread


def shown_hash(whole: str) -> str:
    """Returns what a person is shown of it, and names again."""
    return whole[:SHOWN]


def require_digits(begun: str, option: str) -> None:
    """Raises: Invalid."""
    if not SHOWN <= len(begun) <= 64 or set(begun) - set("0123456789abcdef"):
        raise Invalid(f"{option} takes the hash of what you have read, at least {SHOWN} of its digits.")


def whole_hash(now: str, begun: str, name: str) -> str:
    """Returns the hash of what is there now, if it is what was read. Raises: ContentChanged."""
    if not now.startswith(begun):
        raise ContentChanged(f"'{name}' is not what you have read (its hash is {now} now). Read it again.")
    return now
