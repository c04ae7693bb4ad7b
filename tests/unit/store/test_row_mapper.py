"""Values become rows of their table and are read from them again."""

from enum import Enum

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
