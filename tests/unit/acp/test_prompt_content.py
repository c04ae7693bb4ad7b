"""Prompts of editors as messages: linked files, unsaved versions, and what is not taken for either."""

from acp.helpers import resource_link_block, text_block
from acp.schema import EmbeddedResourceContentBlock, TextResourceContents

from anycowork.acp.prompt_content import mentioned_files, read_prompt
from anycowork.domain.attached_files import AttachedFile


def test_linked_files_of_the_workspace_are_mentioned_and_others_are_not() -> None:
    names = ("/w/a.txt", "/w/a.txt", "/w/../etc/passwd", "/etc/passwd", "/w/b%20c.txt")
    blocks = [resource_link_block("x", f"file://{name}") for name in names]
    assert mentioned_files([*blocks, resource_link_block("x", "https://w/a.txt")], "/w") == ["a.txt", "b c.txt"]


def test_an_unsaved_version_follows_what_the_person_said_and_takes_the_place_of_the_mention() -> None:
    blocks = [text_block("Fix "), resource_link_block("a", "file:///w/a.txt"), resource_link_block("b", "file:///w/b")]
    content = read_prompt(blocks, "/w", {"a.txt": "mine ```"})
    assert content.text == 'Fix  a.txt  @"b" '
    assert "a.txt is open in the editor" in content.whole_text and "mine" not in content.whole_text
    assert content.files == (AttachedFile("a.txt", "mine ```"),)


def test_the_words_of_a_command_stay_alone() -> None:
    content = read_prompt([text_block("/explain_code path=a.txt")], "/w", {"a.txt": "mine"})
    assert content.whole_text == "/explain_code path=a.txt" and content.files == ()


def test_an_embedded_file_is_attached_and_only_its_path_is_part_of_the_message() -> None:
    resource = EmbeddedResourceContentBlock(
        type="resource", resource=TextResourceContents(uri="file:///w/a.txt", text="the text @.env")
    )
    content = read_prompt([text_block("Explain"), resource], "/w")
    assert content.whole_text == "Explain a.txt " and content.files == (AttachedFile("a.txt", "the text @.env"),)


def test_of_many_unsaved_versions_those_that_fit_are_attached_and_the_others_are_named() -> None:
    unsaved = {f"{number}.txt": "x" * 150_000 for number in range(4)}
    content = read_prompt([text_block("Go")], "/w", unsaved)
    assert [file.name for file in content.files] == ["0.txt", "1.txt"]
    assert content.whole_text.count("cannot be attached") == 2
