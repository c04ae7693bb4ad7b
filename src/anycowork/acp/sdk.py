"""Loads the protocol's SDK quickly: an editor waits for the first answer."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic._internal import _fields


@contextmanager
def quick_model_building() -> Iterator[None]:
    """While it holds, pydantic reads no field descriptions out of source files. The SDK's 215 models ask for them, and nobody here reads them.

    They took a third of the SDK's loading. Without the function that is replaced here, all works as before, slower.
    """
    name = "extract_docstrings_from_cls"
    original = getattr(_fields, name, None)
    setattr(_fields, name, lambda *args, **kwargs: {})
    gc.disable()  # what is loaded stays: nothing is there to be collected
    try:
        yield
    finally:
        gc.enable()
        if original is None:
            delattr(_fields, name)
        else:
            setattr(_fields, name, original)
