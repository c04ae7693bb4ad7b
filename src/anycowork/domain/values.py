"""`@value`: a frozen dataclass, implemented by msgspec in C, because an agent creates dozens of them at every step.

The classes are created by msgspec too: a dataclass compiles six methods from text for each class, which slows down every start.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

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


def _made(cls: type[T], *, collected: bool) -> type[T]:
    attributes = dict(vars(cls))
    cls.__doc__ = (
        cls.__doc__ or cls.__name__
    )  # otherwise dataclass would build one from a signature that does not exist yet
    class_fields = _fields_of(dataclass(init=False, repr=False, eq=False)(cls))
    replaced = _OF_A_PLAIN_CLASS | {class_field.name for class_field in class_fields}
    namespace = {name: it for name, it in attributes.items() if name not in replaced}
    namespace |= {
        "__doc__": cls.__doc__,
        "__dataclass_fields__": {class_field.name: class_field for class_field in class_fields},
    }
    if any(map(_stays_out, class_fields)):  # a struct would compare, hash and show all of its fields
        namespace = {**_methods_without(class_fields), **namespace}
    kinds = [_described(class_field) for class_field in class_fields]
    return msgspec.defstruct(cls.__name__, kinds, frozen=True, namespace=namespace, gc=collected)  # type: ignore[return-value]  # the same fields, methods and name


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


def _fields_of(cls: type[T]) -> "tuple[Field[Any], ...]":
    return fields(cls)  # type: ignore[arg-type]  # a dataclass, which its type does not tell


def _described(class_field: "Field[Any]") -> tuple[str, Any] | tuple[str, Any, Any]:
    if class_field.default is not MISSING:
        return class_field.name, class_field.type, class_field.default
    if class_field.default_factory is not MISSING:
        return class_field.name, class_field.type, msgspec.field(default_factory=class_field.default_factory)
    return class_field.name, class_field.type
