"""A value is a frozen dataclass to all who use it."""

import copy
import dataclasses
import gc
from dataclasses import field
from typing import ClassVar, Literal

import msgspec
import pytest

from anycowork.domain.values import leaf_value, mutable_value, replace, value


@value
class Point:
    """Where something is."""

    x: int
    y: int = 0
    notes: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def sum(self) -> int:
        return self.x + self.y

    @classmethod
    def at_origin(cls) -> "Point":
        return cls(0)


@value
class Letter:
    words: str
    sealed: int = field(default=0, compare=False, repr=False)


@value
class Range:
    """Says what is wrong when it is made."""

    LARGEST: ClassVar[int] = 9
    first: int
    last: int = 0

    def __post_init__(self) -> None:
        if self.last > self.LARGEST:
            raise ValueError("too large")


@value
class Marker:
    """Without fields: only that it is there counts."""


@mutable_value
class Basket:
    """What was put in it."""

    LARGEST: ClassVar[int] = 3
    owner: str
    _things: list[str] = field(default_factory=list)

    def put(self, thing: str) -> int:
        self._things.append(thing)
        return len(self._things)


def test_a_mutable_value_can_be_changed_shares_no_default_and_has_no_other_fields() -> None:
    first, second = Basket("ann"), Basket("ann")
    assert first == second and first.put("apple") == 1 and first != second
    first.owner = "ben"
    assert [it.name for it in dataclasses.fields(first)] == ["owner", "_things"]  # type: ignore[arg-type]  # it reads like one
    assert repr(first) == "Basket(owner='ben', _things=['apple'])" and first.LARGEST == 3
    with pytest.raises(AttributeError):
        first.colour = "red"  # type: ignore[attr-defined]  # that is the question
    with pytest.raises(TypeError):
        hash(first)


def test_no_field_can_be_changed_or_removed() -> None:
    point = Point(1, 2)
    with pytest.raises(AttributeError):
        point.x = 3  # type: ignore[misc]  # that is the question
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 3  # type: ignore[attr-defined]  # that is the question
    assert (point.x, point.y) == (1, 2)


def test_values_with_equal_fields_are_equal_and_a_field_may_stay_out_of_the_hash() -> None:
    assert Point(1, 2) == Point(1, y=2) != Point(2, 1)
    assert hash(Point(1, notes={"a": "b"})) == hash(Point(1))
    assert Marker() == Marker() != Point(1)


def test_a_field_may_stay_out_of_what_is_compared_and_shown() -> None:
    assert Letter("a", 1) == Letter("a", 2) != Letter("b", 1)
    assert hash(Letter("a", 1)) == hash(Letter("a", 2)) and Letter("a") != Marker()
    assert repr(Letter("a", 1)) == "Letter(words='a')"


@pytest.mark.parametrize("change", [replace, dataclasses.replace])
def test_a_changed_copy_leaves_the_value_as_it_was(change: object) -> None:
    assert callable(change)
    point = Point(1, 2, {"a": "b"})
    assert change(point, y=5) == Point(1, 5, {"a": "b"}) and point.y == 2


def test_every_value_has_its_own_default() -> None:
    one, other = Point(1), Point(1)
    one.notes["only"] = "here"
    assert other.notes == {}


def test_names_methods_and_patterns_are_those_of_the_class() -> None:
    def where(found: object) -> Literal["origin", "elsewhere", "nowhere"]:
        match found:
            case Point(0, 0):
                return "origin"
            case Point():
                return "elsewhere"
            case _:
                return "nowhere"

    assert [where(Point.at_origin()), where(Point(3)), where(Marker())] == ["origin", "elsewhere", "nowhere"]
    assert (Point.__name__, Point.__module__, Point.__doc__) == ("Point", __name__, "Where something is.")
    assert Point(1, 2).sum == 3 and copy.deepcopy(Point(1)) == Point(1)
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "notes"]
    assert [one.name for one in dataclasses.fields(Range(1))] == ["first", "last"]


def test_a_value_that_lacks_a_field_or_has_one_too_many_is_not_made() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]  # that is the question
    with pytest.raises(TypeError):
        Point(1, 2, {}, 4)  # type: ignore[call-arg]  # that is the question


def test_a_value_may_have_class_variables_and_look_at_itself_when_it_is_made() -> None:
    assert Range.LARGEST == Range(1).LARGEST == 9 and repr(Range(1, last=2)) == "Range(first=1, last=2)"
    with pytest.raises(ValueError, match="too large"):
        Range(1, 10)


def test_the_class_of_a_value_is_made_without_methods_of_its_own() -> None:
    """What a dataclass costs at every start is the methods that it compiles from text."""
    for method in ("__init__", "__eq__", "__hash__", "__repr__", "__setattr__", "__delattr__"):
        assert getattr(Range, method) is getattr(msgspec.Struct, method), method


@leaf_value
class Leaf:
    x: int
    notes: dict[str, str] = field(default_factory=dict, hash=False)


def test_a_leaf_is_a_value_that_the_garbage_collector_does_not_look_at() -> None:
    leaf, point = Leaf(1, {"a": "b"}), Point(1, notes={"a": "b"})
    assert leaf == Leaf(1, {"a": "b"}) != replace(leaf, x=2)
    with pytest.raises(AttributeError):
        leaf.x = 3  # type: ignore[misc]  # that is the question
    assert gc.is_tracked(point) and not gc.is_tracked(leaf)
