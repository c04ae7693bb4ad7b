"""Prompts of editors as messages: linked files, unsaved versions, and what is not taken for either."""

from acp.helpers import resource_link_block, text_block

from anycowork.acp.prompt_content import mentioned_files, read_prompt


def test_linked_files_of_the_workspace_are_mentioned_and_others_are_not() -> None:
    names = ("/w/a.txt", "/w/a.txt", "/w/../etc/passwd", "/etc/passwd", "/w/b%20c.txt")
    blocks = [resource_link_block("x", f"file://{name}") for name in names]
    assert mentioned_files([*blocks, resource_link_block("x", "https://w/a.txt")], "/w") == ["a.txt", "b c.txt"]


def test_an_unsaved_version_follows_what_the_person_said_and_takes_the_place_of_the_mention() -> None:
    blocks = [text_block("Fix "), resource_link_block("a", "file:///w/a.txt"), resource_link_block("b", "file:///w/b")]
    content = read_prompt(blocks, "/w", {"a.txt": "mine ```"})
    assert content.text == 'Fix  a.txt  @"b" '
    assert "a.txt is open in the editor" in content.unsaved and "````\nmine ```\n````" in content.unsaved
    assert content.whole_text == content.text + content.unsaved


def test_the_words_of_a_command_stay_alone() -> None:
    content = read_prompt([text_block("/explain_code path=a.txt")], "/w", {"a.txt": "mine"})
    assert content.whole_text == "/explain_code path=a.txt"
