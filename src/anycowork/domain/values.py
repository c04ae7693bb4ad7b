"""`@value`: a frozen dataclass, implemented by msgspec in C, because an agent creates dozens of them at every step.

The classes are created by msgspec too: a dataclass compiles six methods from text for each class, which slows down every start.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
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
    leaves_out = any(isinstance(it, Field) and _stays_out(it) for it in attributes.values())
    class_fields = _fields_of(
        dataclass(frozen=True)(cls) if leaves_out else dataclass(init=False, repr=False, eq=False)(cls)
    )
    replaced = _OF_A_PLAIN_CLASS | {class_field.name for class_field in class_fields}
    namespace = {name: it for name, it in attributes.items() if name not in replaced}
    namespace |= {
        "__doc__": cls.__doc__,
        "__dataclass_fields__": {class_field.name: class_field for class_field in class_fields},
    }
    if leaves_out:  # a struct would compare, hash and show all of its fields
        namespace |= {"__eq__": cls.__eq__, "__hash__": cls.__hash__, "__repr__": cls.__repr__}
    kinds = [_described(class_field) for class_field in class_fields]
    return msgspec.defstruct(cls.__name__, kinds, frozen=True, namespace=namespace, gc=collected)  # type: ignore[return-value]  # the same fields, methods and name


def _stays_out(class_field: "Field[Any]") -> bool:  # Any, as dataclasses has it
    return class_field.hash is False or not (class_field.compare and class_field.repr)


def _fields_of(cls: type[T]) -> "tuple[Field[Any], ...]":
    return fields(cls)  # type: ignore[arg-type]  # a dataclass, which its type does not tell


def _described(class_field: "Field[Any]") -> tuple[str, Any] | tuple[str, Any, Any]:
    if class_field.default is not MISSING:
        return class_field.name, class_field.type, class_field.default
    if class_field.default_factory is not MISSING:
        return class_field.name, class_field.type, msgspec.field(default_factory=class_field.default_factory)
    return class_field.name, class_field.type
