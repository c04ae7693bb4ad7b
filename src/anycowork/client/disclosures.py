"""The words that name the items of a disclosure on every screen that a person decides on: what a decision grants."""

ITEM_NAMES = {
    "tool": "tool",
    "command": "$",
    "check": "checked by $",
    "path": "file",
    "host": "reaches",
    "parameter": "with",
    "budget": "budget",
}
