"""What the digest of a compacted chat says of attached files."""

from anycowork.domain.attached_files import AttachedFile, files_payload
from anycowork.domain.values import replace
from anycowork.prompts.compaction import compaction_digest
from support.spec import proves
from unit.prompts.chats import answer, words


@proves("UI-8")
def test_the_newest_request_is_told_with_its_file_as_far_as_there_is_room() -> None:
    file = AttachedFile("towns.csv", "city,people\nBonn,330000\n")
    request = replace(words("How many towns?"), payload=files_payload([file]))
    told = compaction_digest([request, answer("One.")], budget_bytes=8_000)
    assert told is not None and f"How many towns?\n\n{file.quoted()}" in told.text
    large = replace(request, payload=files_payload([AttachedFile("big.csv", "1,2\n" * 20_000)]))
    told = compaction_digest([large, answer("One.")], budget_bytes=8_000)
    assert told is not None and 'How many towns?\n\n[Attached file "big.csv"' in told.text
    assert len(told.text.encode()) <= 8_000
