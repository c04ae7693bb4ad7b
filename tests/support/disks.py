"""File systems of a test's own, for those who may mount."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


@contextmanager
def mounted(point: Path, *words: object) -> Iterator[Path]:
    """`words` are those of mount(8) before the point. What still holds it open at the end lets go later."""
    subprocess.run(["mount", *map(str, words), str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True)
