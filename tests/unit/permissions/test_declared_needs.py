"""A call's needs are held against what the active skills declared."""

import pytest

from anycowork.domain.network import wanted_destinations
from anycowork.domain.roles import Permission
from anycowork.domain.skills import ActiveSkill, Declared
from anycowork.domain.tools import ToolSpec
from anycowork.permissions.declared_needs import undeclared_needs, undeclared_path
from anycowork.permissions.resources import AccessedResources
from anycowork.permissions.shell.parser import parse
from support.spec import proves


def spec(name: str, permission: Permission = Permission.EXECUTE_COMMANDS, *, web: bool = False) -> ToolSpec:
    return ToolSpec(name, "x", "x", frozenset({permission}), {}, web=web)


def command(text: str, *hosts: str) -> AccessedResources:
    return AccessedResources("execute_command", command=parse(text), network=wanted_destinations(hosts))


def needs(touched: AccessedResources, *tools: str, network: tuple[str, ...] = ()) -> list[str]:
    permission = Permission.EXECUTE_COMMANDS if touched.command else Permission.WRITE_FILES
    return list(
        undeclared_needs([ActiveSkill("git-notes", Declared(tools, network))], spec(touched.tool, permission), touched)
    )


@proves("SKL-1/2")
@pytest.mark.parametrize(
    ("text", "tools", "declared"),
    [
        ("git log --oneline", ("Bash(git:*)",), True),
        ("git log | wc -l", ("Bash(git:*)",), False),
        ("git log | wc -l", ("Bash(git:*)", "Bash(wc:*)"), True),
        ("git log; rm -r x", ("Bash(git:*)",), False),
        ("git status", ("Bash(git status)",), True),
        ("git push", ("Bash(git status)",), False),
        ("gitk", ("Bash(git:*)",), False),
        ("anything | at; all", ("Bash",), True),
        ("ls", (), False),
        ("ls", ("Read", "Write"), False),
    ],
)
def test_a_command_is_declared_by_every_program_in_it(text: str, tools: tuple[str, ...], declared: bool) -> None:
    assert (needs(command(text), *tools) == []) is declared


@proves("SKL-1/2")
@pytest.mark.parametrize(
    ("tool", "tools", "declared"),
    [
        ("create_file", ("Write",), True),
        ("update_file", ("Write",), True),
        ("update_file", ("Edit",), True),
        ("create_file", ("Edit",), False),
        ("create_file", ("Write(docs/**)",), False),
        ("delete_file", ("Write",), False),
        ("delete_file", ("delete_file",), True),
        ("files__save", ("mcp__files__save",), True),
        ("files__drop", ("mcp__files__save",), False),
    ],
)
def test_a_tool_is_declared_by_its_known_name_or_by_ours(tool: str, tools: tuple[str, ...], declared: bool) -> None:
    touched = (
        AccessedResources(tool, other="mcp:x#1") if "__" in tool else AccessedResources(tool, paths=("/notes/a.md",))
    )
    assert (needs(touched, *tools) == []) is declared


@proves("SKL-1/3")
def test_hosts_that_were_not_declared_are_named_with_the_skill() -> None:
    (reason,) = needs(command("curl https://api.example.com", "api.example.com"), "Bash")
    assert "'git-notes' did not declare that it reaches api.example.com" in reason
    assert not needs(command("curl https://api.example.com", "api.example.com"), "Bash", network=("*.example.com",))


def test_reading_needs_no_declaration_but_the_web_does() -> None:
    skill = ActiveSkill("a", Declared())
    read = AccessedResources("read_file", paths=("/a",))
    assert not list(undeclared_needs([skill], spec("read_file", Permission.READ_FILES), read))
    page = AccessedResources(
        "fetch_page", other="web:https://example.com", network=wanted_destinations(["example.com"])
    )
    fetch = spec("fetch_page", Permission.READ_FILES, web=True)
    assert list(undeclared_needs([skill], fetch, page))
    assert not list(undeclared_needs([ActiveSkill("a", Declared(("WebFetch",)))], fetch, page))
    narrowed = ActiveSkill("a", Declared(("WebFetch(domain:example.org)",)))
    assert list(undeclared_needs([narrowed], fetch, page))


def test_of_several_skills_each_must_have_declared_it() -> None:
    skills = [ActiveSkill("a", Declared(("Bash",))), ActiveSkill("b", Declared())]
    (reason,) = undeclared_needs(skills, spec("execute_command"), command("ls"))
    assert "'b'" in reason


@proves("SKL-1/3")
def test_a_path_that_was_not_declared_is_named_with_the_skill() -> None:
    skill = ActiveSkill("reports", Declared(("Write",), paths=("reports/**", "index.md")))
    assert undeclared_path([skill], "reports/2026/a.md") is None and undeclared_path([skill], "index.md") is None
    assert "'reports' did not declare that it changes 'src/app.py'" in (undeclared_path([skill], "src/app.py") or "")
    assert undeclared_path([ActiveSkill("any", Declared(("Write",)))], "src/app.py") is None
