"""The message that is proposed for a commit counts no file that is not committed."""

from anycowork.chats.files.git_service import proposed_message
from anycowork.domain.git import GitFile

FILES = [GitFile("src/a.py", "modified"), GitFile("b.py", "untracked")]


def test_the_title_of_the_chat_is_the_whole_message_else_the_files_are_named() -> None:
    assert proposed_message("Rename  the animal", FILES) == "Rename the animal"
    assert proposed_message("x" * 80, FILES) == "Update 2 files"
    assert proposed_message("", FILES[1:]) == "Add b.py"
    assert proposed_message("Rename the animal", []) == ""
