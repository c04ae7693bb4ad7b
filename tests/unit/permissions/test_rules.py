"""Which rule decides: deny over ask over allow, an allow only for all of a call, and the same whatever the order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.rules import Effect, NewRule, Rule, RuleScope, new_rule
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Intent, PathIntent
from anycowork.permissions.resources import AccessedResources, resources_of
from anycowork.permissions.rule_proposals import proposed_rule
from anycowork.permissions.rules import RuleDecision, RuleIndex, check_changes, check_pattern, decide, matches
from support.spec import proves
from support.toolspecs import SPECS

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
ROOT = "/home/ann/project"
NOW = "2026-11-01T00:00:00.000000Z"
DEFAULT = RuleDecision(ASK, None, "No rule covers it.")


def rule(effect: Effect, resource: str, tool: str = "execute_command", **more: str) -> Rule:
    return Rule(f"{effect}-{tool}-{resource}", tool, resource, effect, RuleScope.GLOBAL, **more)


def command(text: str) -> AccessedResources:
    return resources_of(
        Prepared("execute_command", {}, f"command:{text}", Intent(command=text)), SPECS["execute_command"], ROOT
    )


def file(path: str, tool: str = "update_file", *others: str) -> AccessedResources:
    intent = Intent(tuple(PathIntent(item.lstrip("/"), None, None) for item in (path, *others)))
    return resources_of(Prepared(tool, {}, path, intent), SPECS[tool], ROOT)


def effect(touched: AccessedResources, *rules: Rule) -> Effect:
    return decide(touched, RuleIndex(rules), default=DEFAULT).effect


# --- commands


@proves("APR-2", "APR-3")
@pytest.mark.parametrize(
    ("pattern", "text", "allowed"),
    [
        ("git status", "git status", True),
        ("git status", "git  'status'", True),
        ("git status", "git status -s", False),
        ("git status *", "git status -s", True),
        ("git status *", "git status", True),
        ("git status *", "git stash", False),
        ("git status", "git status; rm -rf .", False),
        ("git status", "timeout 5 git status", True),
        ("git status", "sh -c 'git status'", True),
        ("git status", "sudo git status", False),
        ("git status", "A=b git status", False),
        ("git status", "git status > x", False),
        ("git status", "git status 2>/dev/null", True),
        ("find *", "find . -name x", True),
        ("find *", "find . -exec rm {} ;", False),
        ("xargs *", "xargs rm", False),
        ("xargs rm *", "xargs rm", True),
        ("sudo apt *", "sudo apt update", True),
        ("sudo *", "sudo rm x", False),
        ("make && make test", "make && make test", True),
        ("make && make test", "make test", False),
        ("rm *.pyc", "rm *.pyc", True),
        ("rm *.pyc", "cd x && rm *.pyc", False),
        ("*", "anything at all | goes", True),
        ("*", "eval anything", True),
        ("pytest *", "pytest -q tests", True),
        ("pytest *", "pytest -p evil", False),
        ("tool *", "tool file other", True),
        ("tool *", "tool --flag", False),
        ("tool --flag *", "tool --flag file", True),
        ("tool --flag", "tool --flag", True),
        ("git log *", "git log --oneline -20 -- src", True),
        ("git log *", "git log --output=x", False),
        ("git *", "git -c core.pager=x log", False),
        ("git -c *", "git -c core.pager=x", False),
        ("git -c core.pager=x log", "git -c core.pager=x log", True),
        ("./build.sh", "./build.sh", True),
        ("CI=1 npm test", "CI=1 npm test", True),
        ("CI=1 npm *", "CI=1 npm test", True),
        ("PAGER=x git *", "PAGER=x git log", True),
    ],
)
def test_an_allowed_command_is_matched_by_its_parsed_parts(pattern: str, text: str, allowed: bool) -> None:
    assert effect(command(text), rule(ALLOW, pattern)) is (ALLOW if allowed else ASK)


def test_several_rules_together_cover_a_compound_command() -> None:
    rules = (rule(ALLOW, "git add *"), rule(ALLOW, "git commit *"), rule(ALLOW, "/log/*"))
    assert effect(command("git add . && git commit -m 'x y' > log/a"), *rules) is ALLOW
    assert effect(command("git add . && git push"), *rules) is ASK
    assert effect(command("git add . > elsewhere/a"), *rules) is ASK


def test_a_lone_star_allows_what_is_not_understood_only_where_no_rule_might_mind() -> None:
    loop, star = command("for f in a; do rm $f; done"), rule(ALLOW, "*")
    assert effect(loop, star) is ALLOW
    assert effect(loop, star, rule(DENY, "git push *")) is ASK
    assert effect(loop, star, rule(ASK, "git push")) is ASK
    assert effect(loop, star, rule(DENY, "/secrets/*", "read_file")) is ASK
    assert effect(loop, rule(ALLOW, loop.command.text if loop.command else "")) is ASK, "its text is no plain command"


def test_a_program_by_its_path_is_another_one_in_another_folder() -> None:
    rules = (rule(ALLOW, "cd *"), rule(ALLOW, "./build.sh"), rule(ALLOW, "make test"))
    assert effect(command("./build.sh && make test"), *rules) is ALLOW
    assert effect(command("cd other && make test"), *rules) is ALLOW
    assert effect(command("cd other && ./build.sh"), *rules) is ASK


def test_why_it_asks_is_said_in_plain_words() -> None:
    def why(text: str, pattern: str) -> str:
        return decide(command(text), RuleIndex((rule(ALLOW, pattern),)), default=DEFAULT).reason

    assert "runs a command inside another one" in why("git log $(id)", "git log *")
    assert "'--output=x' of 'git log' is not known to be harmless" in why("git log --output=x", "git log *")
    assert "is given input" in why("cat x | tool", "tool")


@proves("APR-2")
@pytest.mark.parametrize(
    "text",
    [
        "rm x",
        "ls; rm x",
        "/bin/rm x",
        "sudo rm x",
        "env rm x",
        "A=b rm x",
        "sh -c 'rm x'",
        "find . -exec rm {} ;",
        "echo $(rm x)",
        *("eval rm x", "ls | xargs rm", "'r'm x", "timeout 5 rm x", "f() { rm x; }", "PATH=. rm x", "cat <(rm x)"),
    ],
)
def test_a_denied_command_is_found_wherever_it_stands(text: str) -> None:
    assert effect(command(text), rule(ALLOW, "*"), rule(DENY, "rm *")) is DENY


@pytest.mark.parametrize("text", ["git $X", "git {push,-f}", "git pu?h", "xargs git"])
def test_what_may_turn_out_to_be_denied_is_asked(text: str) -> None:
    decided = decide(command(text), RuleIndex((rule(ALLOW, "*"), rule(DENY, "git push *"))), default=DEFAULT)
    assert decided.effect is ASK and decided.rule is not None and "may access" in decided.reason


@proves("APR-2")
def test_a_redirection_writes_and_reads_as_the_file_tools_do() -> None:
    allow = rule(ALLOW, "*")
    assert effect(command("echo x > secrets/a"), allow, rule(DENY, "/secrets/*", "update_file")) is DENY
    assert effect(command("cat < secrets/a"), allow, rule(DENY, "/secrets/*", "read_file")) is DENY
    assert effect(command(f"echo x > {ROOT}/secrets/a"), allow, rule(DENY, "/secrets/*", "*")) is DENY


# --- paths


@proves("APR-2")
@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        ("/src/*", "/src/a.py", True),
        ("/src/*", "/src/deep/a.py", False),
        ("/src/**", "/src/deep/a.py", True),
        ("/src/", "/src/deep/a.py", True),
        ("/*", "/a.py", True),
        ("/*", "/src/a.py", False),
        ("/src/*", "/SRC/a.py", False),
        ("/src/*", "/src./a.py", False),
        ("/src/*", "/srcs/a.py", False),
        ("*", "/any/where", True),
    ],
)
def test_paths_are_matched_git_style_from_the_root(pattern: str, path: str, allowed: bool) -> None:
    assert effect(file(path), rule(ALLOW, pattern, "update_file")) is (ALLOW if allowed else ASK)
    assert effect(file(path), rule(ALLOW, pattern, "create_file")) is ASK, "another tool"


def test_an_allow_must_cover_every_path_and_a_deny_any() -> None:
    moved = file("/src/a", "move_file", "/secrets/a")
    assert effect(moved, rule(ALLOW, "/src/*", "move_file")) is ASK
    assert effect(moved, rule(ALLOW, "*", "*"), rule(DENY, "/secrets/*", "move_file")) is DENY


def test_where_an_empty_folder_goes_counts_as_well() -> None:
    prepared = Prepared("move_file", {}, "/src/empty", Intent(), others=("/secrets/empty",))
    assert effect(resources_of(prepared, SPECS["move_file"], ROOT), rule(ALLOW, "/src/*", "move_file")) is ASK
    assert effect(resources_of(prepared, SPECS["move_file"], ROOT), rule(DENY, "/secrets/*", "move_file")) is DENY


def test_a_search_above_a_denied_folder_is_asked() -> None:
    search = resources_of(Prepared("grep", {}, "/"), SPECS["grep"], ROOT)
    assert effect(search, rule(ALLOW, "*", "grep"), rule(DENY, "/secrets/*", "*")) is ASK
    inside = resources_of(Prepared("grep", {}, "/src"), SPECS["grep"], ROOT)
    assert effect(inside, rule(ALLOW, "*", "grep"), rule(DENY, "/secrets/*", "*")) is ALLOW


# --- properties

PATTERNS = st.sampled_from(
    ["*", "git status", "git *", "rm *", "ls", "/src/*", "/src/**", "/a.py", "make test", "x && y"]
)
TOOLS = st.sampled_from(["*", "execute_command", "update_file", "move_file", "up*"])
RULES = st.lists(st.builds(rule, st.sampled_from(list(Effect)), PATTERNS, TOOLS), max_size=8)
CALLS = st.sampled_from(
    [
        command(t)
        for t in ("git status", "git push; ls", "rm x", "eval ls", "git $X", "ls > src/a", "x && y", "make test")
    ]
    + [file("/src/a.py"), file("/a.py"), file("/src/deep/b.py"), file("/a.py", "move_file", "/src/a.py")]
)


@proves("APR-2")
@given(RULES, CALLS, PATTERNS, TOOLS)
def test_no_set_of_rules_with_a_matching_deny_allows(
    rules: list[Rule], call: AccessedResources, pattern: str, tool: str
) -> None:
    deny = rule(DENY, pattern, tool)
    if matches(deny, call):
        for place in range(len(rules) + 1):
            assert effect(call, *rules[:place], deny, *rules[place:]) is DENY


@given(RULES, CALLS, PATTERNS, TOOLS)
def test_adding_an_allow_never_turns_a_rules_deny_or_ask_into_allow(
    rules: list[Rule], call: AccessedResources, pattern: str, tool: str
) -> None:
    before = decide(call, RuleIndex(rules), default=DEFAULT)
    after = decide(call, RuleIndex([*rules, rule(ALLOW, pattern, tool)]), default=DEFAULT)
    if before.effect is DENY or before.rule is not None:
        assert after.effect is before.effect
    if call.unanalyzable and after.effect is ALLOW:
        assert after.rule is not None and after.rule.resource == "*"
        assert all(each.effect is ALLOW for each in rules)


@proves("APR-2")
@given(RULES.flatmap(lambda rules: st.tuples(st.just(rules), st.permutations(rules))), CALLS)
def test_the_order_of_rules_changes_nothing(both: tuple[list[Rule], list[Rule]], call: AccessedResources) -> None:
    assert effect(call, *both[0]) is effect(call, *both[1])


# --- writing rules


@pytest.mark.parametrize(
    ("requested", "param", "said"),
    [
        ({"tool": "a b"}, "tool", "is not a tool name"),
        ({"tool": "*x"}, "tool", "is not a tool name"),
        ({"resource": "   "}, "resource", "empty"),
        ({"resource": "git\u200b status"}, "resource", "U+200B"),
        ({"scope": "session"}, "context_id", "needs 'context_id'"),
        ({"scope": "workspace"}, "workspace", "needs 'workspace'"),
        ({"workspace": "/x"}, "workspace", "has no 'workspace'"),
        ({"expires_at": "tomorrow"}, "expires_at", "not a time"),
        ({"expires_at": "2027-01-01T00:00:00"}, "expires_at", "not a time"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "is in the past"),
    ],
)
def test_a_bad_rule_says_what_is_wrong_and_where(requested: dict[str, str], param: str, said: str) -> None:
    given = {"tool": "update_file", "resource": "/src/*", "effect": "allow", "scope": "global", **requested}
    with pytest.raises(Invalid) as caught:
        new_rule(NewRule.model_validate(given), rule_id="r", created_by="person:ann", created_at=NOW)
    assert caught.value.param == param and said in caught.value.message


@pytest.mark.parametrize(
    ("tool", "resource"), [("update_file", "/src/../x"), ("update_file", "!/src"), ("update_file", "/a//b")]
)
def test_a_path_pattern_that_means_nothing_is_refused(tool: str, resource: str) -> None:
    with pytest.raises(Invalid):
        check_pattern(rule(ALLOW, resource, tool))


def test_a_command_pattern_that_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(Invalid, match="not one simple command"):
        check_pattern(rule(ALLOW, "git status; ls *"))


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ("*", "matches everything"),
        ("bash *", "any program"),
        ("a && b", "exactly the same text"),
        ("tool *", "covers its operands"),
        ("git -c *", "matches only 'git -c' itself"),
    ],
)
def test_a_rule_that_reaches_far_is_taken_with_a_warning(resource: str, said: str) -> None:
    assert said in check_pattern(rule(ALLOW, resource))[0]


def test_an_expired_rule_and_one_of_another_place_do_not_hold() -> None:
    session = Rule("r", "x", "*", ALLOW, RuleScope.SESSION, chat_id="c", expires_at="2026-11-02T00:00:00.000000Z")
    assert session.holds_in("c", ROOT, now=NOW) and not session.holds_in("d", ROOT, now=NOW)
    assert not session.holds_in("c", ROOT, now="2026-11-02T00:00:00.000000Z")
    there = Rule("r", "x", "*", ALLOW, RuleScope.WORKSPACE, workspace=ROOT)
    assert there.holds_in("any", ROOT, now=NOW) and not there.holds_in("any", "/other", now=NOW)


# --- proposing rules


@pytest.mark.parametrize(
    ("touched", "pattern"),
    [
        (file("/src/a.py"), "/src/*"),
        (file("/a.py"), "/*"),
        (file("/src/a", "move_file", "/src/b"), "/src/*"),
        (file("/src/x/a", "move_file", "/src/y/b"), "/src/**"),
        (command("git status"), "git status"),
        (command("make && make test > log"), "make && make test > log"),
    ],
)
def test_always_proposes_the_folder_or_the_exact_words(touched: AccessedResources, pattern: str) -> None:
    proposed = proposed_rule(touched, ROOT)
    assert proposed is not None
    assert (proposed["resource"], proposed["scope"], proposed["workspace"]) == (pattern, "workspace", ROOT)
    assert matches(rule(ALLOW, pattern, touched.tool), touched)


@pytest.mark.parametrize("text", ["rm *", "eval ls", "*"])
def test_nothing_is_proposed_where_a_rule_would_say_more_than_was_asked(text: str) -> None:
    assert proposed_rule(command(text), ROOT) is None


# --- what a command has changed already

WRITERS = ["create_file", "update_file", "delete_file", "*", "execute_command"]
PATHS = st.sampled_from(["docs/a.md", "docs/b.md", "src/a.py", "AGENTS.md"])
CHANGES = st.lists(
    st.builds(PathIntent, PATHS, st.sampled_from([None, "x"]), st.sampled_from(["y", None])).filter(
        lambda item: item.before or item.after
    ),
    max_size=4,
)
PATH_RULES = st.lists(
    st.builds(
        lambda effect, resource, tool: rule(effect, resource, tool),
        st.sampled_from([ALLOW, ASK, DENY]),
        st.sampled_from(["/docs/**", "/docs/a.md", "/*", "*", "/src/*"]),
        st.sampled_from(WRITERS),
    ),
    max_size=5,
)


@proves("APR-2", "SNAP-4")
@given(CHANGES, PATH_RULES)
def test_what_file_tools_are_denied_no_command_changes_either(changes: list[PathIntent], rules: list[Rule]) -> None:
    weighed = check_changes(changes, RuleIndex(rules))
    verdicts = [effect(file(f"/{item.path}", _as_tool(item)), *rules) for item in changes]
    if DENY in verdicts:
        assert weighed.effect is DENY
    elif any(asked(item, rules) for item in changes):
        assert weighed.effect in (ASK, DENY)


def test_a_rule_about_everything_hides_no_rule_about_a_path() -> None:
    changed = [PathIntent("docs/a.md", "x", "y")]
    every = (rule(ASK, "*", "*"), rule(ASK, "*"), rule(ASK, "make *"))
    assert check_changes(changed, RuleIndex(every)).effect is ALLOW, "they were heard before the command ran"
    for about in (rule(ASK, "/docs/*", "update_file"), rule(ASK, "/docs/*"), rule(ASK, "docs/", "*")):
        assert check_changes(changed, RuleIndex((*every, about))).effect is ASK


def test_only_a_rule_for_the_very_file_names_it() -> None:
    made = [PathIntent("AGENTS.md", None, "y")]
    for resource, tool, named in (
        ("/AGENTS.md", "create_file", True),
        ("/AGENTS.md", "update_file", False),
        ("/AGENTS.md", "*", False),
        ("/*", "create_file", False),
        ("*", "create_file", False),
    ):
        assert bool(check_changes(made, RuleIndex((rule(ALLOW, resource, tool),))).named) is named, (resource, tool)


@pytest.mark.parametrize(
    "path", ["/AGENTS.md", "/docs/Claude.md", "/.vscode/settings.json", "/a/.mcp.json", "/.github/workflows/x.yml"]
)
@pytest.mark.parametrize("tool", ["create_file", "update_file", "delete_file", "move_file"])
def test_what_steers_others_is_allowed_only_by_a_rule_that_names_it(path: str, tool: str) -> None:
    broad = [rule(ALLOW, "*", "*"), rule(ALLOW, "**", tool), rule(ALLOW, f"{path.rpartition('/')[0]}/*", tool)]
    assert effect(file(path, tool), *broad) is ASK
    assert effect(file("/plain.txt", tool), *broad) is ALLOW
    assert effect(file(path, "read_file"), *broad) is ALLOW, "reading it changes nothing"
    assert effect(file(path, tool), *broad, rule(ALLOW, path, tool)) is ALLOW
    proposed = proposed_rule(file(path, tool), "/w")
    assert proposed is not None and proposed["resource"] == path


def asked(item: PathIntent, rules: list[Rule]) -> bool:
    """By a rule that is about files, and not about everything."""
    asking = [each for each in rules if each.effect is ASK and (each.tool, each.resource) != ("*", "*")]
    own = [each for each in asking if each.names_tool(_as_tool(item))]
    return (
        bool(own)
        and effect(file(f"/{item.path}", _as_tool(item)), *own) is ASK
        and any(matches(each, file(f"/{item.path}", _as_tool(item))) for each in own)
    )


def _as_tool(item: PathIntent) -> str:
    if item.after is None:
        return "delete_file"
    return "create_file" if item.before is None else "update_file"
