"""Attempts to change a control file under a rule or a plan that does not name it, over the whole list and in every spelling."""

import itertools

import pytest

from anycowork.domain.path_class import (
    ControlClass,
    ControlName,
    PathClass,
    class_of,
    control_names,
    is_build_script,
    is_control_file,
)
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, PathIntent
from anycowork.permissions.grants import granted_by, names_file
from anycowork.permissions.resources import resources_of
from anycowork.permissions.risk import assess_risk
from anycowork.permissions.rule_proposals import proposed_rule
from anycowork.permissions.rules import RuleDecision, RuleIndex, check_changes, decide
from support.attempts import Attempts
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree
from support.toolspecs import SPECS

ROOT = "/home/ann/project"
ASK = RuleDecision(Effect.ASK, None, "No rule covers it.")
NAMES = [name for name in control_names() if name.control_class is not ControlClass.SCRIPT]
SCRIPTS = [name for name in control_names() if name.control_class is ControlClass.SCRIPT]
# What an attacker found to pass, as it stood in the report.
REPORTED = [
    ".devcontainer.json", "AGENTS.override.md", "CLAUDE.local.md", ".github/instructions/x.md", ".github/hooks/x.json",
    ".github/agents/x.md", ".github/prompts/x.md", ".forgejo/workflows/x.yml", ".woodpecker.yml", ".cirrus.yml", ".zed/tasks.json",
    ".nvim.lua", ".exrc", ".dir-locals.el", "x.code-workspace", ".opencode/x.md", "opencode.json", ".continue/x.yaml", ".roo/x.md",
    ".kiro/steering/x.md", ".lefthook.yml", ".hg/hgrc",
]  # fmt: skip


def example(name: ControlName) -> str:
    return "/".join(name.parts).replace("*", "x") + ("/inside" if name.is_folder else "")


PATHS = list(dict.fromkeys([*map(example, NAMES), *REPORTED]))


def changing(path: str, tool: str = "create_file") -> Prepared:
    return Prepared(tool, {"path": path}, f"/{path}", intent=Intent(paths=(PathIntent(path, None, "x"),)))


def planned(path: str) -> Plan:
    return Plan(goal="g", steps=(PlanStep(id="1", step_number=1, action="a", paths=(path,)),))


def decision(path: str, *resources: str) -> Effect:
    rules = [Rule(str(at), "create_file", text, Effect.ALLOW, RuleScope.GLOBAL) for at, text in enumerate(resources)]
    return decide(resources_of(changing(path), SPECS["create_file"], ROOT), RuleIndex(rules), default=ASK).effect


def test_the_list_has_every_class_and_a_source_for_each_name() -> None:
    assert {name.control_class for name in control_names()} == set(ControlClass)
    assert all(len(name.source) > 10 and "://" not in name.source for name in control_names())
    assert len(NAMES) > 112


@proves("PER-3")
def test_no_rule_for_a_folder_covers_a_control_file(attempts: Attempts) -> None:
    everywhere = RuleIndex([Rule("1", "create_file", "**", Effect.ALLOW, RuleScope.GLOBAL)])

    def attempt(path: str) -> None:
        for place in ("", "docs/", "docs/deep/"):
            full = f"{place}{path}"
            assert decision(full, "/docs/**", "**", "*", "/**", f"/{place}*", f"/{full[:-1]}?") is Effect.ASK, full
            assert decision(full, f"/{full}") is Effect.ALLOW, full
            assert class_of(tuple(full.split("/"))) is PathClass.ASKED
            assert full not in check_changes([PathIntent(full, None, "x")], everywhere).named

    attempts.every(PATHS, attempt)


@proves("PER-3")
def test_no_plan_covers_a_control_file_that_it_does_not_name(attempts: Attempts) -> None:
    call = Call("1", "c", "t", "b", 0, "create_file", {}, plan_step="1")

    def attempt(path: str) -> None:
        full = f"docs/{path}"
        for pattern in ("docs/", "docs/**", "**", "docs", "docs/*"):
            plan = planned(pattern)
            assert granted_by(plan, SPECS["create_file"], call, changing(full)) is None, pattern
            assert not names_file(pattern, full)
        named = planned(full)
        assert granted_by(named, SPECS["create_file"], call, changing(full)) == "1"

    attempts.every(PATHS, attempt)


@proves("PER-3")
def test_always_proposes_the_very_file(attempts: Attempts) -> None:
    def attempt(path: str) -> None:
        proposed = proposed_rule(resources_of(changing(f"docs/{path}"), SPECS["create_file"], ROOT), ROOT)
        assert proposed is not None and proposed["resource"] == f"/docs/{path}"

    attempts.every(PATHS, attempt)


def spellings(name: str) -> list[str]:
    """As APFS, HFS+ and NTFS take them for the same name."""
    found = [name.upper(), name.title(), name + ".", name + " ", name + "::$DATA", name[0] + "\u200c" + name[1:]]
    return [*found, "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in name)]


@proves("PER-3")
def test_no_spelling_of_a_name_gets_by(attempts: Attempts) -> None:
    names = {"/".join(name.parts): name for name in NAMES}

    def attempt(written: str) -> None:
        parts = [part.replace("*", "x") for part in names[written].parts]
        for spelt in itertools.islice(itertools.product(*map(spellings, parts)), 60):
            assert is_control_file("/".join(spelt)), spelt

    attempts.every(names, attempt)


@pytest.mark.parametrize("short", ["vscode~1/tasks.json", "MCP~1.JSO", "devcon~1/x", "AGENTS~1.md", "lefthook.yml"])
def test_short_names_of_ntfs_count(short: str) -> None:
    assert is_control_file(short) or short == "AGENTS~1.md"


@proves("PER-3")
def test_a_build_script_is_warned_of_and_needs_no_word_of_its_own(attempts: Attempts) -> None:
    def attempt(path: str) -> None:
        assert is_build_script(path) and decision(f"docs/{path}", "/docs/**") is Effect.ALLOW
        call = Call("1", "c", "t", "b", 0, "create_file", {})
        _, reasons = assess_risk(SPECS["create_file"], call, f"/{path}")
        assert any("build tools" in reason for reason in reasons)

    attempts.every(dict.fromkeys(map(example, SCRIPTS)), attempt)


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "src/app.py", "docs/index.md", ".github/ISSUE_TEMPLATE.md", "agents.py", "github/workflows/x"),
        *("config.toml", ".gitignore", ".editorconfig"),
    ],
)
def test_ordinary_files_are_no_control_files(path: str) -> None:
    assert not is_control_file(path)


COMMANDS = [
    *(f"mkdir -p \"$(dirname 'docs/{path}')\"; echo x > 'docs/{path}'" for path in REPORTED),
    "mkdir x; echo x > x/config.toml; ln -s x .cargo",
    "mkdir -p x/workflows; echo x > x/workflows/ci.yml; ln -s x .github",
    "mkdir -p x/workflows; echo x > x/workflows/ci.yml; mv x .github",
    "ln -s /tmp .vscode",
]


@proves("PER-3", "SNAP-4")
async def test_a_command_changes_no_control_file_unseen(bench: ToolWorkspace, attempts: Attempts) -> None:
    async def attempt(words: str) -> None:
        result = await bench.call("execute_command", command=words)
        assert result.facts.get("dropped") == "needs_a_persons_word", result.content
        assert tree(bench.root) == {}

    await attempts.each(COMMANDS, attempt)


@proves("PER-3")
async def test_a_moved_folder_names_every_control_file_in_it(bench: ToolWorkspace) -> None:
    """Beyond the few files that stand for a large folder too."""
    for number in range(60):
        bench.write(f"x/a/{number}.txt", "x")
    bench.write("x/workflows/ci.yml", "on: push")
    prepared = await bench.prepare("move_file", path="x", to=".github")
    assert "/.github/workflows/ci.yml" in resources_of(prepared, SPECS["move_file"], ROOT).paths


# Names that an attack found to pass, each judged by what runs it without being named.
ASKS = (
    ".gitattributes", ".claude-plugin/plugin.json", ".eslintrc.js", ".eslintrc.json", "eslint.config.mjs", ".rubocop.yml", ".netrc", ".env",
    "app/.env.production", ".curlrc", ".wgetrc", ".eclipse/x", ".project", ".earthly/config.yml", ".perltidyrc", ".julia/config/startup.jl",
    ".pylintrc", ".flake8", "mypy.ini", ".luacheckrc", ".formatter.exs", ".prettierrc", ".ycm_extra_conf.py",
)  # fmt: skip
WARNS = (
    "conftest.py",
    "tests/conftest.py",
    "requirements.txt",
    "requirements-dev.txt",
    "package.json",
    "uv.lock",
    "vite.config.ts",
    "go.mod",
)
PASSES = (
    ".gitignore",
    "src/__init__.py",
    "main.py",
    "index.js",
    ".env.example",
    ".editorconfig",
    "tsconfig.json",
    "docs/env.md",
)


@proves("APR-3")
def test_names_that_were_judged_stay_where_they_were_put() -> None:
    assert [path for path in ASKS if not is_control_file(path)] == []
    assert [path for path in WARNS if not is_build_script(path) or is_control_file(path)] == []
    assert [path for path in PASSES if is_control_file(path) or is_build_script(path)] == []
    for path in ASKS:
        assert decision(path, "/**", "**") is Effect.ASK, path
