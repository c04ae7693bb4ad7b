"""The entry for the public registry of agents (docs/registry): what the registry demands of an entry, and what this release is."""

import json
import re
from pathlib import Path

from anycowork import __version__
from anycowork.domain.boundary import Boundary

FOLDER = Path(__file__).parents[3] / "docs" / "registry" / "anycowork"


class PackageDistribution(Boundary):
    package: str
    args: list[str]


class Distribution(Boundary):
    uvx: PackageDistribution


class RegistryEntry(Boundary):
    id: str
    name: str
    version: str
    description: str
    authors: list[str]
    license: str
    icon: str
    distribution: Distribution


def test_the_entry_is_of_this_release_and_starts_the_command() -> None:
    entry = RegistryEntry.model_validate_json((FOLDER / "agent.json").read_text())
    assert entry.id == FOLDER.name and re.fullmatch(r"[a-z][a-z0-9-]*", entry.id)
    assert entry.version == __version__ and re.match(r"[0-9]+\.[0-9]+\.[0-9]+", entry.version)
    assert entry.distribution.uvx == PackageDistribution(package=f"anycowork=={__version__}", args=["acp"])
    assert entry.name and entry.description and entry.license == "Apache-2.0"


def test_the_icon_is_square_small_and_of_one_colour() -> None:
    icon = (FOLDER / json.loads((FOLDER / "agent.json").read_text())["icon"]).read_text()
    assert 'width="16" height="16" viewBox="0 0 16 16"' in icon
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', icon)) == {"currentColor"}


def test_the_page_on_editors_shows_the_same_entry() -> None:
    page = (FOLDER.parents[1] / "editors.md").read_text()
    assert (FOLDER / "agent.json").read_text().strip() in page
