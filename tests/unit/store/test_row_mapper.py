"""Values become rows of their table and are read from them again."""

import sys
from enum import Enum

import pytest

from anycowork.domain.values import value
from anycowork.store.sql.row_mapper import BOOLEAN, JSON_OBJECT, RowMapper, enum_of, json_of, nullable


class Colour(Enum):
    RED = "red"


@value
class Painted:
    id: str
    colour: Colour
    before: Colour | None
    wet: bool
    facts: dict[str, object]
    layers: tuple[str, ...]
    owner: str = ""


ROWS = RowMapper(
    Painted,
    "name, colour, before, wet, facts, layers",
    names={"name": "id"},
    types={
        "colour": enum_of(Colour),
        "before": nullable(enum_of(Colour)),
        "wet": BOOLEAN,
        "facts": JSON_OBJECT,
        "layers": json_of(tuple[str, ...]),
    },
)
WALL = Painted("wall", Colour.RED, None, True, {"coats": 2}, ("base", "top"))


def test_a_row_holds_what_a_database_can_store() -> None:
    assert ROWS.row(WALL, 7) == ("wall", "red", None, 1, '{"coats":2}', '["base","top"]', 7)


def test_a_value_is_read_as_it_was_written() -> None:
    assert ROWS.value(ROWS.row(WALL)) == WALL
    assert ROWS.value((*ROWS.row(WALL), "beyond"), owner="Ann").owner == "Ann"


def test_the_statement_has_a_mark_for_each_column() -> None:
    columns = "name, colour, before, wet, facts, layers, seq"
    assert ROWS.insert("walls", "seq") == f"INSERT INTO walls ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)"


def test_a_type_whose_fields_are_in_another_order_is_read_by_name() -> None:
    rows = RowMapper(
        Painted, "id, owner, layers, facts, wet, colour", types={"wet": BOOLEAN, "colour": enum_of(Colour)}
    )
    found = rows.value(("wall", "Ann", (), {}, 0, "red"), before=None)
    assert found == Painted("wall", Colour.RED, None, False, {}, (), "Ann")


def test_a_value_that_no_member_has_is_refused() -> None:
    with pytest.raises(ValueError, match="blue"):
        ROWS.value(("wall", "blue", None, 1, "{}", "[]"))


def test_reading_a_row_calls_only_the_decoders_that_are_written_in_python() -> None:
    """Rows are read at every step of a turn: an enum, a flag or an empty column costs no call of a function."""
    row, called = ROWS.row(WALL), list[str]()

    def see(frame: object, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)  # type: ignore[attr-defined]  # a frame

    sys.setprofile(see)
    try:
        ROWS.value(row)
    finally:
        sys.setprofile(None)
    assert called == ["value", "from_json_text"]
