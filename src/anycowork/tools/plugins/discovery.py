"""Finds installed plugins by their metadata. Reads files; imports nothing of theirs."""

import logging
import re
import site
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from anycowork.domain.values import value

GROUP = "anycowork.tools"
_ENTRY = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*(?::\w+(?:\.\w+)*)?)\s*(?:\[.*\])?")
log = logging.getLogger(__name__)


@value
class Plugin:
    """One distribution with entry points of a group. `entries` are `module:name`, each under one of the `entry_names`;
    `paths` is where its modules are."""

    name: str
    version: str
    entries: tuple[str, ...]
    paths: tuple[str, ...]
    entry_names: tuple[str, ...] = ()


def find_plugins(folder: Path, group: str = GROUP) -> list[Plugin]:
    """Returns the plugins in this folder (`pip install --target` puts them there), then those among the server's libraries, by name.
    Blocking.

    It searches nowhere else, and never the folder where the server was started: that may be a workspace.
    """
    plugins: dict[str, Plugin] = {}
    for distribution in distributions(path=[str(folder), *libraries()]):
        try:
            plugin = _read(distribution, group)
        except (ValueError, TypeError, KeyError, OSError) as error:  # metadata is untrusted, too
            log.warning("a distribution's metadata cannot be read, so it is skipped: %s", error)
            continue
        if plugin is not None:
            plugins.setdefault(plugin.name, plugin)
    return sorted(plugins.values(), key=lambda plugin: plugin.name)


def libraries() -> tuple[str, ...]:
    """Returns where the server's own libraries are, which plugins may use as well."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(folder for folder in dict.fromkeys(folders) if folder in sys.path and Path(folder).is_dir())


def plain_name(name: str) -> str:
    """Normalises a distribution's name for comparison."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _read(distribution: Distribution, group: str) -> Plugin | None:
    names_by_value = {entry.value: entry.name for entry in distribution.entry_points if entry.group == group}
    if not names_by_value:
        return None
    entries = dict(zip(_plain_entries(names_by_value), names_by_value.values(), strict=True))
    return Plugin(
        name=plain_name(distribution.metadata["Name"]),
        version=distribution.version,
        entries=tuple(entries),
        paths=(str(Path(str(distribution.locate_file(""))).resolve()), *_edited_in(distribution)),
        entry_names=tuple(entries.values()),
    )


def _plain_entries(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        seen = _ENTRY.fullmatch(entry.strip())
        if seen is None:
            raise ValueError(f"'{entry[:80]}' is no entry point; it is written as 'module:name'")
        yield seen[1]


def _edited_in(distribution: Distribution) -> Iterator[str]:
    """Yields the folders of an editable install: its `.pth` file names them."""
    for file in distribution.files or ():
        if file.suffix != ".pth" or len(file.parts) > 1:
            continue
        for line in Path(str(distribution.locate_file(file))).read_text("utf-8").splitlines():
            if line.startswith("/") and Path(line).is_dir():
                yield str(Path(line).resolve())
