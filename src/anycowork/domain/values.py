"""`@value`: a frozen dataclass, implemented by msgspec in C, because an agent creates dozens of them at every step.

The classes are created by msgspec too: a dataclass compiles six methods from text for each class, which slows down every start.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, get_origin

import msgspec

# One `replace` for all values; that of the dataclasses module also accepts a value, but is ten times slower.
if TYPE_CHECKING:
    from dataclasses import replace as replace
else:
    from msgspec.structs import replace as replace

T = TypeVar("T")
_OF_A_PLAIN_CLASS = frozenset({"__dict__", "__weakref__", "__annotations__"})


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Like `@dataclass(frozen=True, slots=True)`, at a tenth of the cost per instance. A value has no base class but `object`."""
    return _made(cls, collected=True)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def leaf_value(cls: type[T]) -> type[T]:
    """A value of text, numbers, JSON and other leaves, without reference cycles: the garbage collector does not track it.

    For values that a turn keeps by the thousand. Never for a value with an error, a function or anything mutable.
    """
    return _made(cls, collected=False)


@dataclass_transform(field_specifiers=(field,))
def mutable_value(cls: type[T]) -> type[T]:
    """Like `@dataclass(slots=True)`, without the six methods that it compiles at every start. No base class but `object`, and no settings
    of a field but its default."""
    return _made(cls, collected=True, frozen=False)


def _made(cls: type[T], *, collected: bool, frozen: bool = True) -> type[T]:
    attributes = dict(vars(cls))
    annotations = {name: it for name, it in cls.__annotations__.items() if not _is_of_the_class(it)}
    kinds = [_described(name, kind, attributes.get(name, MISSING)) for name, kind in annotations.items()]
    replaced = _OF_A_PLAIN_CLASS | annotations.keys()
    namespace = {name: it for name, it in attributes.items() if name not in replaced}
    namespace |= {"__doc__": cls.__doc__ or cls.__name__, "__dataclass_fields__": _FieldsWhenAsked(cls)}
    settings = [default for name in annotations if isinstance(default := attributes.get(name), Field)]
    if any(map(_stays_out, settings)):  # a struct would compare, hash and show all of its fields
        namespace = {**_methods_without(_fields_of(cls)), **namespace}
    return msgspec.defstruct(cls.__name__, kinds, frozen=frozen, namespace=namespace, gc=collected)  # type: ignore[return-value]  # the same fields, methods and name


def _is_of_the_class(kind: object) -> bool:
    origin: object = get_origin(kind)
    return origin is ClassVar


class _FieldsWhenAsked:
    """What `dataclasses.fields` reads. Few classes are ever asked for it, and to describe all of them took a thirtieth of a start."""

    def __init__(self, cls: type) -> None:
        self._class = cls
        self._fields: dict[str, Field[Any]] | None = None  # Any, as dataclasses has it

    def __get__(self, instance: object, owner: type | None = None) -> "dict[str, Field[Any]]":
        if self._fields is None:
            self._fields = {it.name: it for it in _fields_of(self._class)}
        return self._fields


def _stays_out(class_field: "Field[Any]") -> bool:  # Any, as dataclasses has it
    return class_field.hash is False or not (class_field.compare and class_field.repr)


def _methods_without(class_fields: "Iterable[Field[Any]]") -> dict[str, object]:
    """Returns how a value is compared, hashed and shown of which fields stay out: as a dataclass, which would compile six methods for it."""
    compared = _getter([it.name for it in class_fields if it.compare])
    hashed = _getter([it.name for it in class_fields if (it.compare if it.hash is None else it.hash)])
    shown_names = [it.name for it in class_fields if it.repr]

    def is_equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def hash_of(self: object) -> int:
        return hash(hashed(self))

    @recursive_repr()
    def text_of(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown_names)})"

    return {"__eq__": is_equal, "__hash__": hash_of, "__repr__": text_of}


def _getter(names: Sequence[str]) -> Callable[[object], object]:
    return attrgetter(*names) if names else lambda value: None


def _fields_of(cls: type) -> "tuple[Field[Any], ...]":
    """Reads them from a copy, which dataclass changes: two threads may ask at once."""
    annotations = cls.__annotations__
    copied = {name: it for name, it in vars(cls).items() if name in annotations}
    copied |= {"__doc__": "A copy.", "__annotations__": annotations, "__module__": cls.__module__}
    return fields(dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), copied)))


def _described(name: str, kind: object, default: object) -> tuple[str, Any] | tuple[str, Any, Any]:
    if isinstance(default, Field):
        if default.default_factory is not MISSING:
            return name, kind, msgspec.field(default_factory=default.default_factory)
        default = default.default
    return (name, kind) if default is MISSING else (name, kind, default)
