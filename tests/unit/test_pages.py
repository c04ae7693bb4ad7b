"""The pages that people read say what is true: every command, flag and setting stands there, and every link leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from anycowork.agent import injection_detector
from anycowork.api.middleware import body
from anycowork.cli.main import app
from anycowork.config.settings import KNOBS, Settings
from anycowork.delegates import sandbox_requests, tool, transport
from anycowork.domain import bounded_json
from anycowork.domain.roles import OutputFormat, Permission
from anycowork.mcp import answer_limits
from anycowork.permissions.roles import read_role_file
from anycowork.sandbox import package_caches
from anycowork.sandbox.layers import mounts
from anycowork.sandbox.secrets import secret_paths
from anycowork.server import browser_sessions
from anycowork.server.audit import audit_check
from support.commands import every_command

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text("utf-8")
BASES = (ROOT, ROOT / "src" / "anycowork")
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")


def commands() -> Iterator[tuple[str, set[str]]]:
    """Each command as it is typed, with its long flags."""
    for name, command in every_command(app).items():
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
    default = (
        "your system's folder for data" if name == "data_dir" else shown(field.get_default(call_default_factory=True))
    )
    meaning = knob.unit or "debug, info, warning, error"
    assert f"| `{name}` | {default} | {meaning} | {'yes' if knob.changeable else 'no'} |\n" in SETTINGS


def test_no_setting_stands_in_the_page_that_is_none() -> None:
    assert re.findall(r"^\| `(\w+)` \|", SETTINGS, re.MULTILINE) == list(KNOBS)


def test_every_decision_is_listed_in_its_order() -> None:
    pages = sorted(page.name for page in (ROOT / "docs" / "adr").glob("0*.md"))
    assert (
        re.findall(r"^\| \[\d{4}\]\((.+?)\) \|", (ROOT / "docs/adr/README.md").read_text("utf-8"), re.MULTILINE)
        == pages
    )


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    names = set(re.findall(r"`([\w./-]*(?:test_\w+\.py|\.test\.tsx?))`", page.read_text("utf-8")))
    places = (ROOT, ROOT / "tests", ROOT / "web" / "src")
    assert sorted(name for name in names if not any((place / name).is_file() for place in places)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_index_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md" and f"({page.name})" not in index
    ] == []


def test_every_place_that_the_page_on_extending_names_is_there() -> None:
    table = "".join(line for line in EXTENDING.splitlines(keepends=True) if line.startswith("| a"))
    named = {word for word in re.findall(r"`([^` ]+)`", table) if "/" in word or word.endswith(".py")}
    assert len(named) > 30
    assert sorted(place for place in named if not any((base / place).exists() for base in BASES)) == []


def test_every_room_and_every_module_beside_them_stands_in_the_architecture() -> None:
    page, server = (ROOT / "docs" / "architecture.md").read_text("utf-8"), ROOT / "src" / "anycowork"
    services = [path.parent.name for path in server.glob("*/__init__.py")]
    beside = [path.stem for path in server.glob("*.py") if not path.stem.startswith("__")]
    assert sorted(name for name in (*services, *beside) if not re.search(rf"`(?:anycowork\.)?{name}`", page)) == []


def test_the_role_that_the_page_shows_is_one() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", EXTENDING, re.DOTALL)
    role = read_role_file("translator.toml", shown)
    assert (role.name, role.output) == ("translator", OutputFormat.TEXT)
    assert role.permissions == {Permission.READ_FILES, Permission.CREATE_FILES}


def shown(default: object) -> str:
    if default is None:
        return "–"
    if default in ((), {}):
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def test_every_test_that_the_security_page_names_exists() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    named = re.findall(r"\[`(test_\w+)`\]\(\.\./([\w/.]+)\)", page)
    assert len(named) > 100 and len(named) == page.count("`test_")
    lacking = [
        name
        for name, file in named
        if not re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert lacking == []


def test_limits_that_the_security_page_names_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    for sentence in (
        f"{body.SIGN_IN_BYTES >> 10} KB for whoever has not signed in, {body.FORM_BYTES >> 20} MB where a route",
        f"at most {_word(body.MOST_LARGE)} large ones of one sender",
        f"({bounded_json.MAX_VALUES:,}, and {body.MAX_FIELDS} fields of one object)",
        f"{browser_sessions.MAX_SESSIONS} sessions and {browser_sessions.MAX_CODES} codes of their own",
        f"within {injection_detector._NEAR} characters",
        f"Options above {mounts.LONGEST_OPTIONS:,} bytes",
        f"up to {secret_paths.MOST_LOOKED:,} entries and {_word(secret_paths._DEEPEST)} levels",
        f"its first {package_caches._MOST_SEARCHED:,} entries and {_word(package_caches._DEEPEST)} folders deep",
        f"{answer_limits.LARGEST_ANSWER // 1_000_000} MB and {answer_limits.MOST_VALUES:,} values, an event stream",
        f"{tool.LONGEST_LINE // 1_000_000} MB and {answer_limits.MOST_VALUES:,} values a message, {transport.MOST_REQUESTS} open requests",
        f"open requests, {_word(sandbox_requests._MOST_AT_ONCE)} files at once",
        f"reads every record up to {audit_check.READ_ANYWAY:,}",
        f"every {audit_check.FULL_DAYS} days",
    ):
        assert sentence in page, sentence


def _word(number: int) -> str:
    return ("zero", "one", "two", "three", "four", "five", "six")[number]


def test_every_enforced_sentence_of_the_security_page_has_a_test_beside_it() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    enforced = page.partition("## Enforced today")[2].partition("\n## ")[0]
    rows = [line for line in enforced.splitlines() if line.startswith("| ") and "---" not in line]
    assert [row for row in rows if "`test_" not in row and "proved by" not in row] == []
