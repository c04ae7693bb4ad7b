"""The pages that people read say what is true: every command, flag and setting stands there, and every link leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from anycowork.cli import app
from anycowork.settings import KNOBS, Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")


def commands() -> Iterator[tuple[str, set[str]]]:
    """Each command as it is typed, with its long flags."""
    house = get_command(app)
    assert isinstance(house, typer.core.TyperGroup)
    for name, command in house.commands.items():
        below = command.commands if isinstance(command, typer.core.TyperGroup) else {"": command}
        for word, one in below.items():
            flags = {flag for parameter in one.params for flag in parameter.opts if flag.startswith("--")}
            yield f"anycowork {name} {word}".strip(), flags - {"--help"}


@pytest.mark.parametrize(("typed", "flags"), [pytest.param(*one, id=one[0]) for one in commands()])
def test_every_command_and_flag_stands_in_the_page(typed: str, flags: set[str]) -> None:
    assert re.search(rf"`{typed}\b", COMMANDS), f"docs/commands.md lacks `{typed}`"
    assert sorted(flag for flag in flags if f"`{flag}`" not in COMMANDS) == []


@pytest.mark.parametrize("name", KNOBS)
def test_every_setting_stands_in_the_page_with_its_default(name: str) -> None:
    field, knob = Settings.model_fields[name], KNOBS[name]
    default = "your system's folder for data" if field.default_factory else shown(field.default)
    meaning = knob.unit or "debug, info, warning, error"
    assert f"| `{name}` | {default} | {meaning} | {'yes' if knob.changeable else 'no'} |\n" in SETTINGS


def test_no_setting_stands_in_the_page_that_is_none() -> None:
    assert re.findall(r"^\| `(\w+)` \|", SETTINGS, re.MULTILINE) == list(KNOBS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md" and f"({page.name})" not in index
    ] == []


def shown(default: object) -> str:
    if default is None:
        return "–"
    if default == ():
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
