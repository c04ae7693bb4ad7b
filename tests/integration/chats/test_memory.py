"""What a person asks to remember: shown as a difference, saved as their own edit, undone like any other."""

from pathlib import Path

from support.live_server import live_server
from support.spec import proves


@proves("UI-16/2")
async def test_a_note_is_shown_saved_trusted_and_read_by_the_model(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Yes."], files={"a.txt": "x"}) as client:
        chat = await client.chat()
        folder = Path((await client.ask("GET", chat.path))["workspace"])
        shown = await client.ask("POST", f"{chat.path}/memory", {"text": "Tests: make test"}, expect=200)
        assert shown["path"] == "AGENTS.md" and shown["sha256"] is None and "+- Tests: make test" in shown["diff"]
        assert not (folder / "AGENTS.md").exists()
        body = {"text": "Tests: make test", "sha256": None}
        saved = await client.ask("PUT", f"{chat.path}/memory", body, expect=200)
        assert (
            saved["trusted"] is True and (folder / "AGENTS.md").read_text() == "## Remembered\n\n- Tests: make test\n"
        )
        again = await client.ask("POST", f"{chat.path}/memory", {"text": "Tests:  make test"}, expect=200)
        assert again["diff"] == "", "what is said twice stands there once"
        await client.ask("PUT", f"{chat.path}/memory", {**body, "sha256": again["sha256"]}, expect=422)
        await chat.send("hello there, what do you know")
        assert "Tests: make test" in str(client.model.requests[-1]["messages"])
        undo = await client.ask("POST", f"{chat.path}/snapshots/{saved['snapshot']}/restore", {}, expect=200)
        assert undo["deleted"] == ["AGENTS.md"] and not (folder / "AGENTS.md").exists()


@proves("UI-16/2")
async def test_a_file_that_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"AGENTS.md": "# Rules\n"}) as client:
        chat = await client.chat()
        folder = Path((await client.ask("GET", chat.path))["workspace"])
        shown = await client.ask("POST", f"{chat.path}/memory", {"text": "a"}, expect=200)
        (folder / "AGENTS.md").write_text("# Others\n")
        await client.ask("PUT", f"{chat.path}/memory", {"text": "a", "sha256": shown["sha256"]}, expect=409)
        await client.ask("PUT", f"{chat.path}/memory", {"text": "a", "sha256": None}, expect=409)
        assert (folder / "AGENTS.md").read_text() == "# Others\n"
        again = await client.ask("POST", f"{chat.path}/memory", {"text": "a"}, expect=200)
        saved = await client.ask("PUT", f"{chat.path}/memory", {"text": "a", "sha256": again["sha256"]}, expect=200)
        assert saved["trusted"] is False  # nobody read the rest of it


async def test_notes_that_say_nothing_and_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "x"}) as client:
        chat = await client.chat()
        folder = Path((await client.ask("GET", chat.path))["workspace"])
        for text in ("", "   ", "x" * 2_001, 3, None):
            await client.ask("POST", f"{chat.path}/memory", {"text": text}, expect=422)
        (folder / "AGENTS.md").write_bytes(b"\xff\xfe\x00binary")
        refused = await client.ask("POST", f"{chat.path}/memory", {"text": "a"}, expect=422)
        assert "cannot" in str(refused) or "not a text" in str(refused)
        await client.ask("POST", "/context/nobody/memory", {"text": "a"}, expect=404)
