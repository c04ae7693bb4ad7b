"""The risk ladder: low reads, medium changes what a checkpoint can undo, high is everything else. And what role and risk tighten."""

import fnmatch
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.approvals import Risk
from anycowork.domain.chats import Autonomy
from anycowork.domain.network import wanted_destinations
from anycowork.domain.path_class import is_key_file
from anycowork.domain.roles import OutputFormat
from anycowork.domain.rules import Effect
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, Provenance
from anycowork.permissions.admission import covers
from anycowork.permissions.command_risk import _overlap, may_reach_secrets
from anycowork.permissions.policy import PolicyResult, default_decision
from anycowork.permissions.resources import AccessedResources
from anycowork.permissions.risk import assess_risk
from anycowork.permissions.roles import BUILT_IN
from anycowork.permissions.shell.parser import parse
from support.spec import proves
from support.toolspecs import SPECS

ROOT = "/home/ann/project"
COMMANDS = replace(SPECS["execute_command"], contained=True)
ROLES = {role.name: role for role in BUILT_IN}
LOW = [
    "ls -l", "cat README.md", "git status", "git log --oneline | head -5", "grep -n x src/a.py", "wc -l src/*.py",
    "find . -name '*.py'", "cat AGENTS.md", "git diff HEAD~1", "pwd && ls", "cat src/a.py 2>/dev/null",
]  # fmt: skip
MEDIUM = [
    "rm junk.txt", "rm -rf build", "pytest -q", "npm test", "cargo test", "make", "uv run pytest", "touch a", "mv a b",
    "echo x > a.txt", "sort -o a a", "find . -delete", "python3 build.py", "git commit -m x", "git checkout main",
    "sed -i s/a/b/ a.txt", "for f in a b; do wc $f; done > out", f"cp {ROOT}/a {ROOT}/b", "truncate -s 0 log.txt",
]  # fmt: skip
HIGH = [
    "sudo ls", "curl https://example.org", "npm install left-pad", "pip install x", "git push", "git clone x", "cat .env",
    "cat ~/.ssh/id_rsa", "cat ../other", "cat /etc/passwd", "rm -rf .git", "git reset --hard", "git branch -D x",
    "echo x > AGENTS.md", "cp a .vscode/tasks.json", "sed -i s/a/b/ .github/workflows/ci.yml", "timeout 5 sudo ls",
    "ls && wget x", "sh -c 'curl x'", "eval sudo ls", "grep x < .env", "tool --file=.env", "xargs -a x ssh",
    "ls $(curl x)", "dd if=/dev/sda of=a", "chown root a", "cat secrets/prod.txt", "rm ~/x",
]  # fmt: skip


def risk_of(command: str, *, contained: bool = True, network: tuple[str, ...] = ()) -> Risk:
    spec = replace(COMMANDS, contained=contained)
    resource, reached = f"command:{command}", wanted_destinations(network)
    return assess_risk(spec, a_call("execute_command"), resource, reached, workspace=ROOT)[0]


def a_call(tool: str, provenance: Provenance | None = None) -> Call:
    return Call("k", "c", "t", "b", 0, tool, {}, provenance=provenance or Provenance())


@proves("APR-3")
@pytest.mark.parametrize(
    ("command", "risk"),
    [*((c, Risk.LOW) for c in LOW), *((c, Risk.MEDIUM) for c in MEDIUM), *((c, Risk.HIGH) for c in HIGH)],
)
def test_command_has_the_risk_of_what_it_does(command: str, risk: Risk) -> None:
    assert risk_of(command) is risk


@proves("APR-3")
@pytest.mark.parametrize("command", [*LOW, *MEDIUM, *HIGH])
def test_every_command_without_a_sandbox_or_with_network_is_high(command: str) -> None:
    assert risk_of(command, contained=False) is Risk.HIGH
    assert risk_of(command, network=("example.org",)) is Risk.HIGH


@proves("APR-3")
@pytest.mark.parametrize(
    ("tool", "resource", "risk"),
    [
        ("read_file", "/a.txt", Risk.LOW),
        ("read_file", "/AGENTS.md", Risk.LOW),
        ("read_file", "/.env", Risk.HIGH),
        ("create_file", "/a.txt", Risk.MEDIUM),
        ("update_file", "/a.txt", Risk.MEDIUM),
        ("move_file", "/a.txt", Risk.MEDIUM),
        ("delete_file", "/a.txt", Risk.MEDIUM),
        ("update_file", "/AGENTS.md", Risk.HIGH),
        ("delete_file", "/.ssh/id_rsa", Risk.HIGH),
    ],
)
def test_file_tool_has_the_risk_of_what_it_does(tool: str, resource: str, risk: Risk) -> None:
    assert assess_risk(SPECS[tool], a_call(tool), resource)[0] is risk
    quoted = a_call(tool, Provenance(whole_reply=False))
    assert assess_risk(SPECS[tool], quoted, resource)[0] is Risk.HIGH


# --- what role and risk tighten, where no rule speaks


@proves("APR-3/11")
def test_risk_asks_where_the_tool_itself_would_not() -> None:
    free = replace(SPECS["update_file"], requires_approval=False)
    actor = ROLES["actor"]
    for path, effect in (("/a.txt", Effect.ALLOW), ("/AGENTS.md", Effect.ASK), ("/secrets/x.txt", Effect.ASK)):
        assert (
            default_decision(free, a_call("update_file"), AccessedResources("update_file", (path,)), actor).effect
            is effect
        ), path
    quoted = a_call("update_file", Provenance(whole_reply=False))
    assert default_decision(free, quoted, AccessedResources("update_file", ("/a.txt",)), actor).effect is Effect.ASK


@proves("APR-3/3", "APR-3/8")
def test_reading_passes_and_reading_a_key_file_asks_in_every_role() -> None:
    for role in BUILT_IN:
        for path, effect in (("/a.txt", Effect.ALLOW), ("/.env", Effect.ASK), ("/k.pem", Effect.ASK)):
            read = default_decision(
                SPECS["read_file"], a_call("read_file"), AccessedResources("read_file", (path,)), role
            )
            assert read.effect is effect, (role.name, path)
        named = AccessedResources("read_file", ("/a.txt",), key_files=("/.env",))
        assert default_decision(SPECS["read_file"], a_call("read_file"), named, role).effect is Effect.ASK


@proves("APR-3/8")
def test_secret_that_is_changed_beside_the_resource_is_high_and_a_pattern_for_one_is_no_edit_in_the_sandbox() -> None:
    changed = assess_risk(SPECS["create_file"], a_call("create_file"), "/a.txt", changed=["/a.txt", "/k.pem"])
    assert changed[0] is Risk.HIGH and any("k.pem" in reason for reason in changed[1])
    policy = cast(PolicyResult, SimpleNamespace(touched=AccessedResources("execute_command"), workspace=ROOT))
    for words, passes in (("touch b.txt", True), ("cat .en?", False)):
        prepared = Prepared("execute_command", {}, f"command:{words}", Intent(command=words))
        call = a_call("execute_command")
        assert covers(Autonomy.SANDBOXED, COMMANDS, call, prepared, policy) is passes, words


@proves("APR-3/10")
def test_role_that_only_advises_asks_where_an_actor_passes() -> None:
    """Planner, commander and reviewer, and a team's own role whose output is a review: whatever can change something asks."""
    plugin = replace(SPECS["create_file"], name="words", plugin="acme", requires_approval=False)
    change = replace(SPECS["create_file"], requires_approval=False)
    auditor = replace(ROLES["actor"], name="auditor", output=OutputFormat.REVIEW, built_in=False)
    for spec in (plugin, change):
        touched = AccessedResources(spec.name, ("/a.txt",))
        assert default_decision(spec, a_call(spec.name), touched, ROLES["actor"]).effect is Effect.ALLOW
        for role in (auditor, ROLES["planner"], ROLES["commander"], ROLES["reviewer"]):
            decided = default_decision(spec, a_call(spec.name), touched, role)
            assert decided.effect is Effect.ASK and "only advises" in decided.reason


# --- names


def test_key_files_are_known_by_name() -> None:
    keys = (".env", "a/.env.local", ".ssh/config", "x/.aws/credentials", "k.pem", "ID_RSA", "a/server.key", ".netrc")
    others = ("env", ".env.example", "a/.env.sample", "keyboard.py", "pem", "ssh/config", ".environment/x", "tokens.py")
    assert all(map(is_key_file, keys)) and not any(map(is_key_file, others))


UNRESOLVED = [
    "cat .en?", "cat .e*", "cat .[e]nv", "cat .{env,x}", "cat $F", "cat ${F}", "cat `echo .env`", "cat $(echo .env)",
    "cat ~/x", "find . -exec cat {} +", "find . | xargs cat", "grep -r x .", "rg x", "cat *", "cat src/*", "head -5 k.p*",
    "cat < $F", "cat \"$F\"", "cat '.e''nv'", "cat .e\\nv", "python3 -c 'print(open(chr(46)+\"env\").read())'", "git grep x",
    "for f in .e*; do cat $f; done", "bash -c 'cat .en?'", "cat .ss?/config", "eval cat x", "$C .x", "cat <(cat .env)",
    "tar cf - .", "while read f; do cat $f; done < list", "awk 1 .en*", "x=.env; cat $x",
]  # fmt: skip
RESOLVED = [
    "cat a.txt",
    "cat src/*.py",
    "ls *",
    "ls -la",
    "pytest -q",
    "rm *.o",
    "make",
    "grep -n x a.txt",
    "cat 'a b.txt'",
]


@proves("APR-3")
@pytest.mark.parametrize("command", UNRESOLVED)
def test_words_that_cannot_be_resolved_count_as_naming_secrets(command: str) -> None:
    assert may_reach_secrets(parse(command))


@pytest.mark.parametrize("command", RESOLVED)
def test_words_that_name_no_secret_do_not(command: str) -> None:
    assert not may_reach_secrets(parse(command))


@given(st.text("ab*?", max_size=6), st.text("ab*", max_size=5), st.text("ab", max_size=5))
def test_patterns_that_share_a_name_are_found(one: str, other: str, name: str) -> None:
    if fnmatch.fnmatchcase(name, one) and fnmatch.fnmatchcase(name, other):
        assert _overlap(one, other)


@pytest.mark.parametrize("piece", ["a" * 9 + " ", "id_", ".env", "/" * 10, "*?" * 5, "a=b:c@", "sudo ", "../", "'$x' "])
def test_time_grows_with_the_length_of_the_command(piece: str) -> None:
    def seconds(count: int) -> float:
        command = "command:cat " + piece * count
        start = time.process_time()
        for _ in range(3):
            parse.cache_clear()
            assess_risk(COMMANDS, a_call("execute_command"), command, workspace=ROOT)
        return time.process_time() - start

    seconds(10)
    assert seconds(40_000) < 60 * max(seconds(4_000), 0.005)


@pytest.mark.parametrize(
    ("tool", "description", "risk"),
    [
        ("list_orders", "List the orders of a customer.", Risk.MEDIUM),
        ("getPost", "Return one post.", Risk.MEDIUM),
        ("send_money", "", Risk.HIGH),
        ("sendMoney", "Fast.", Risk.HIGH),
        ("SEND", "", Risk.HIGH),
        ("wire", "Pays a bill.", Risk.HIGH),
        ("get_status", "Deletes the account.", Risk.HIGH),
        ("add", "Adds two numbers.", Risk.MEDIUM),
    ],
)
def test_a_servers_tool_that_reads_and_one_that_sends_money_differ(tool: str, description: str, risk: Risk) -> None:
    spec = replace(SPECS["execute_command"], name=f"bank__{tool}", description=description, server="bank")
    level, (reason, *_) = assess_risk(spec, a_call(spec.name), f"mcp:bank/{tool}#1")
    assert level is risk
    assert ("acts elsewhere" in reason) is (risk is Risk.HIGH)
    assert ("only reads" in reason) is (tool.startswith(("list", "get")) and risk is Risk.MEDIUM)
