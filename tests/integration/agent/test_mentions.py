"""What a person names with `@`: brought through the gate before the model is asked."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.agent.mentions import MOST_MENTIONS, Mention, MentionKind, mentions_in
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("look at @src/app.py.", ["src/app.py"]),
        ("compare @a.txt, @b.txt and @a.txt", ["a.txt", "b.txt"]),
        ('read @"my notes.txt"', ["my notes.txt"]),
        ("mail me at someone@example.org", []),
        ("no @ here, nor @@twice", []),
        ("@.env is hidden", [".env"]),
    ],
)
def test_a_reference_is_a_path_behind_a_lone_at_sign(words: str, paths: list[str]) -> None:
    assert mentions_in(words) == [Mention(MentionKind.FILE, path) for path in paths]


@pytest.mark.parametrize(
    ("words", "kind", "name"),
    [
        ("list @src/ please", MentionKind.FOLDER, "src"),
        ('list @"my notes/"', MentionKind.FOLDER, "my notes"),
        ("where is @symbol:Window.add?", MentionKind.SYMBOL, "Window.add"),
        ("read @mcp:docs:notes://one?x=1.", MentionKind.RESOURCE, "docs:notes://one?x=1"),
        ('read @mcp:"docs:notes://a b"', MentionKind.RESOURCE, "docs:notes://a b"),
    ],
)
def test_a_mention_says_what_it_names(words: str, kind: MentionKind, name: str) -> None:
    assert mentions_in(words) == [Mention(kind, name)]


@given(st.text())
def test_any_words_can_be_looked_through(words: str) -> None:
    assert len(mentions_in(words)) <= MOST_MENTIONS


@proves("CTX-1")
async def test_a_named_file_is_read_before_the_model_is_asked_and_counts_as_read(tmp_path: Path) -> None:
    replies = [call("update_file", path="notes.txt", content="two\n"), "Changed."]
    async with live_server(tmp_path, replies=replies, files={"notes.txt": "one\n"}) as client:
        chat = await client.chat()
        await chat.send("change @notes.txt to two, and tell @nobody")
        first = client.model.requests[0]["messages"]
        assert [said["role"] for said in first[-3:]] == ["user", "assistant", "user"] and "one" in first[-1]["content"]
        [read, _] = await chat.of_type("tool_call")
        assert read["payload"]["tool"] == "read_file" and read["payload"]["reference"] is True
        assert [each["tool"] for each in await chat.approvals()] == ["update_file"], (
            "it was read, so it may be replaced"
        )


async def test_what_a_rule_denies_or_asks_for_is_not_read_by_naming_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."], files={"secret.txt": "s3cret\n", ".env": "KEY=1\n"}) as client:
        rule = {"tool": "read_file", "resource": "/secret.txt", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        await chat.send("what is in @secret.txt, @.env, @../outside and @/etc/passwd?")
        assert await chat.of_type("tool_call") == [] and "s3cret" not in str(client.model.requests)
        assert (await chat.last())["content"] == "Hello."


@proves("UI-8")
async def test_folders_and_symbols_are_brought_as_recorded_calls_and_completed_by_name(tmp_path: Path) -> None:
    files = {
        "src/app.py": "class Window:\n    pass\n\n\ndef window_of(x): ...\n",
        "secret/keys.py": "class WindowKey: ...\n",
    }
    async with live_server(tmp_path, replies=["Seen."], files=files) as client:
        rule = {"tool": "read_file", "resource": "/secret/*", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        found = (await client.ask("GET", f"{chat.path}/symbols?q=wind"))["results"]
        assert [(one["name"], one["kind"], one["line"]) for one in found] == [
            ("Window", "class", 1),
            ("window_of", "def", 5),
        ]
        assert (await client.ask("GET", f"{chat.path}/symbols?q=.*"))["results"] == []
        await chat.send("what is in @src/ and @symbol:Window?")
        calls = [one["payload"] for one in await chat.of_type("tool_call")]
        assert [(one["tool"], one["reference"]) for one in calls] == [("list_directory", True), ("search_symbol", True)]
        assert all(one["status"] == "ok" for one in await chat.results())
        assert "app.py" in str(client.model.requests[0]["messages"][-1])


@proves("UI-8")
async def test_a_checkpoint_is_told_to_the_model_with_its_time_and_paths(tmp_path: Path) -> None:
    replies = [call("create_file", path="plan.md", content="one\ntwo\n"), "Created.", "I see."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("create a plan")
        await chat.decide()
        after = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"][-1]
        await chat.send(f"what did @checkpoint:{after['id'][:18]} change?")
        told = client.model.requests[-1]["messages"][-1]["content"]
        assert after["created_at"] in told and "- plan.md (+2 -0 lines)" in told
        note = (await chat.messages())[-2]
        assert note["role"] == "system" and note["payload"] == {"checkpoint": after["id"][:18]}


@proves("UI-8")
async def test_what_was_named_and_not_read_is_shown_to_the_person_and_not_to_the_model(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello.", "So."], files={"here.txt": "x\n", ".env": "KEY=1\n"}) as client:
        chat = await client.chat()
        await chat.send("look at @here.txt, @gone.txt, @away/, @.env, @mcp:nobody:a://b and @checkpoint:0123456789")
        await chat.send("why does @dataclass, @app.get or @anna not help?")
        [note] = [each for each in await chat.messages() if each["role"] == "system"]
        missed = ["@checkpoint:0123456789", "@gone.txt", "@away/", "@.env", "@mcp:nobody:a://b"]
        assert note["payload"] == {"not_found": missed} and all(name in note["content"] for name in missed)
        assert "Not found" not in str(client.model.requests)
