"""Attached text files are text, bounded, named on one line, and quoted so that nothing in them ends the quotation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.attached_files import (
    ATTACHED,
    MAX_BYTES,
    MAX_FILES,
    AttachedFile,
    attached_files_of,
    check_files,
    files_payload,
    with_quoted_files,
)
from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.messages import Message, Speaker
from support.spec import proves


def said(*files: AttachedFile, role: Speaker = Speaker.USER) -> Message:
    return Message("1", "c", role, "Sum it up.", payload=files_payload(files) or None)


@proves("UI-8")
def test_a_message_is_shown_with_its_files_quoted_after_the_words():
    message = said(AttachedFile("a.csv", "x,y\n1,2\n"), AttachedFile("b.md", "no end of line"))
    shown = with_quoted_files(message)
    words, first, second = shown.content.split("\n\n")
    assert words == "Sum it up." and first.endswith("]\n```\nx,y\n1,2\n```")
    assert first.startswith(f'{ATTACHED}"a.csv", 8 bytes.') and second.endswith("```\nno end of line\n```")
    assert shown.payload is None and with_quoted_files(shown) is shown
    assert message.content == "Sum it up."


@given(st.text(alphabet="`~\n ax", max_size=60))
def test_nothing_in_a_file_ends_its_quotation(content):
    _, fence, *inside, end = AttachedFile("a.md", content).quoted().split("\n")
    assert fence == end and set(fence) == {"`"} and len(fence) >= 3
    assert not any(fence in line for line in inside)
    assert "\n".join(inside) == content.removesuffix("\n")


@pytest.mark.parametrize(
    ("file", "fault", "reason"),
    [
        (AttachedFile("a.bin", "MZ\x00\x01"), Invalid, "a.bin is not plain text"),
        (AttachedFile("a.log", "\x1b[31mred"), Invalid, "control characters"),
        (AttachedFile("a.txt", "\ud800"), Invalid, "not UTF-8 text"),
        (AttachedFile("a.txt", " \n"), Invalid, "a.txt is empty"),
        (AttachedFile("\n\u202e", "x"), Invalid, "needs a name"),
        (AttachedFile("a.txt", "ä" * (MAX_BYTES // 2 + 1)), TooLarge, "at most 200 KB"),
    ],
)
def test_what_is_no_text_or_too_large_is_refused(file, fault, reason):
    with pytest.raises(fault, match=reason):
        check_files([file])


def test_a_message_has_a_bounded_number_of_files_and_bytes():
    with pytest.raises(Invalid, match="at most 8 files"):
        check_files([AttachedFile("a", "x")] * (MAX_FILES + 1))
    with pytest.raises(TooLarge, match="400 KB together"):
        check_files([AttachedFile("a", "x" * MAX_BYTES)] * 3)
    assert check_files([AttachedFile("a", "x" * MAX_BYTES)] * 2)


def test_a_name_cannot_leave_its_line_or_its_quotation_marks():
    [file] = check_files([AttachedFile('a"]\n```\n[Attached\u202e file "b' + "c" * 200, "x")])
    assert file.name.startswith("a') ''' (Attached file 'bccc") and len(file.name) == 100
    assert file.quoted().count("\n") == 3


def test_stored_files_that_cannot_be_read_are_skipped_and_only_people_attach():
    broken = {"attachments": [{"name": "a"}, 3, {"name": "b", "content": "B"}]}
    assert attached_files_of(Message("1", "c", Speaker.USER, "x", payload=broken)) == (AttachedFile("b", "B"),)
    assert attached_files_of(Message("1", "c", Speaker.USER, "x", payload={"attachments": "a"})) == ()
    assert attached_files_of(said(AttachedFile("a", "A"), role=Speaker.SYSTEM)) == ()
