"""Lines end where files, diffs and git end them."""

import ast
from pathlib import Path

import pytest

import anycowork
from anycowork.domain.visible_text import bare_lines

SOURCES = Path(anycowork.__file__).parent
# These look at words of programs, of models or of people for show, or at bytes: there is no second reader that counts lines otherwise.
MAY_SPLIT_ANYWHERE = {
    "chats/chat_title.py",
    "config/errors.py",
    "config/known_models.py",
    "git/git_process.py",
    "git/push.py",
    "jobs/task_briefs.py",
    "prompts/examples.py",
    "providers/guide/phrases.py",
    "providers/local/catalogue.py",
    "providers/local/download.py",
    "providers/openai/usage_watch.py",
    "sandbox/commit/git_changes.py",
    "sandbox/git_identity.py",
    "sandbox/layers/layer_mounts.py",
    "sandbox/network/egress.py",
    "sandbox/network/dialer.py",
    "sandbox/toolchains.py",
    "server/machine.py",
    "server/setup/sandbox_setup.py",
    "tools/command_summary.py",
    "tools/plugins/manifest.py",
    "tui/cards.py",
    "tui/message_scroll.py",
    "workspace/opened_folders.py",
    "client/disclosures.py",
}


@pytest.mark.parametrize("other", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r"])
def test_only_a_line_feed_ends_a_line(other: str) -> None:
    assert bare_lines(f"a{other}b\nc\r\n\nd") == [f"a{other}b", "c", "", "d"]


@pytest.mark.parametrize(
    ("text", "lines"), [("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""])]
)
def test_the_last_line_feed_begins_no_line(text: str, lines: list[str]) -> None:
    assert bare_lines(text) == lines


def test_what_others_read_too_is_not_split_by_splitlines() -> None:
    splitting = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if any(
            isinstance(node, ast.Attribute) and node.attr == "splitlines"
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
        )
    }
    assert splitting == MAY_SPLIT_ANYWHERE
