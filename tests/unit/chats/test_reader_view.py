"""What a reader who decides nothing is shown of calls, results and differences."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.chats.reader_view import ReaderView
from anycowork.domain.path_class import is_key_file

PLANTED = "planted-value"
VIEW = ReaderView(is_key_file)
names = st.sampled_from([".env", "a.txt", "sub/.env", "b.py", "keys/id_rsa"])


@given(st.lists(names, min_size=1, max_size=5))
def test_a_difference_loses_the_lines_of_protected_files_and_of_no_others(paths: list[str]) -> None:
    content = {path: PLANTED if is_key_file(path) else f"line of {path}" for path in paths}
    sections = [f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{content[path]}\n+{content[path]}" for path in paths]
    shown = VIEW.shown({"diff": "\n".join(sections)})
    assert isinstance(shown, dict)
    assert PLANTED not in str(shown)
    assert all(content[path] in str(shown) for path in paths if not is_key_file(path))


def test_a_line_of_a_protected_file_ends_nothing() -> None:
    """A removed line that begins with two dashes looks like the head of another file's difference."""
    hunk = f"@@ -1,3 +1,3 @@\n--- a/b.py\n-{PLANTED}\n+++ b/b.py\n+{PLANTED}\n {PLANTED}\n"
    shown = VIEW.shown({"diff": f"--- a/.env\n+++ b/.env\n{hunk}--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-old\n+new"})
    assert PLANTED not in str(shown) and "+new" in str(shown)
    cut = VIEW.shown({"diff": f"--- a/b.py\n+++ b/b.py\n@@ -1,90 +1,90 @@\n-old\n--- a/.env\n+++ b/.env\n-{PLANTED}"})
    assert PLANTED not in str(cut), "a difference that was cut off"


def test_calls_results_and_approvals_of_protected_files_keep_their_paths_alone() -> None:
    call = {"tool": "update_file", "parameters": {"path": ".env", "content": PLANTED}}
    result = {
        "tool": "read_file",
        "facts": {"path": ".env", "sha256": PLANTED, "before": PLANTED},
        "content": PLANTED,
        "diff": f"-{PLANTED}",
    }
    command = {"tool": "execute_command", "facts": {"key_files_read": [".env"]}, "output": PLANTED}
    message = {"message_type": "tool_result", "content": PLANTED, "payload": command}
    approval = {
        "approval": {**call, "resource": "/.env", "diff": PLANTED, "disclosure": {"items": [{"text": PLANTED}]}}
    }
    shown = VIEW.shown({"a": [call, result, message, approval]})
    assert PLANTED not in str(shown) and ".env" in str(shown)
    plain = {"tool": "update_file", "parameters": {"path": "a.txt", "content": "text"}, "diff": "+text"}
    assert VIEW.shown(plain) == plain
