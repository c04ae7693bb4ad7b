"""Any store: the origins of file versions are joined, by path, by folder and for the workspace, and a name that is not UTF-8 has them too."""

import pytest

from anycowork.domain.journal import AddFileOrigins, Change, CopyFileOrigins, VouchForFile
from anycowork.domain.messages import Speaker
from anycowork.domain.origins import PERSON, WORKSPACE
from anycowork.domain.values import replace
from anycowork.store.sql import origins as origin_rows
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat, message


@proves("ORG-1/2")
async def test_origins_are_joined_for_the_path_its_folder_and_the_workspace(open_store: OpenStore) -> None:
    async with open_store() as store:
        await store.journal.write(add_chat())
        for origin in ("web:a.example", "mcp:notes", "web:a.example"):
            await store.journal.write(Change("c1", (AddFileOrigins("/w", ("src/a.py",), frozenset({origin})),)))
        origins = store.store.origins
        assert await origins.of_paths("/w", ["src/a.py"]) == {"web:a.example", "mcp:notes"}
        assert await origins.of_paths("/w", ["src"]) == {WORKSPACE, "web:a.example", "mcp:notes"}
        assert await origins.of_paths("/w", ["other.py"]) == {WORKSPACE}
        assert await origins.of_workspace("/w") == {WORKSPACE, "web:a.example", "mcp:notes"}
        assert await origins.of_workspace("/elsewhere") == {WORKSPACE}


@proves("ORG-1/2")
async def test_every_way_to_write_origins_is_seen_by_the_next_question(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are remembered from one step of a turn to the next, and past nothing that could have changed them."""
    decoded, decode = [], origin_rows._decode
    monkeypatch.setattr(origin_rows, "_decode", lambda text: decoded.append(text) or decode(text))
    own, web = frozenset({WORKSPACE}), frozenset({"web:a.example"})
    async with open_store() as store:
        origins = store.store.origins

        async def ask() -> tuple[bool, frozenset[str], frozenset[str], frozenset[str]]:
            return (
                await origins.trusts_contents("/w/below"),
                await origins.of_workspace("/w"),
                await origins.of_paths("/w", ["a.py"]),
                await origins.of_workspace("/copy"),
            )

        await store.journal.write(add_chat())
        await store.roots.register("/w", registered_by="owner")
        assert await ask() == (False, own, own, own)
        await store.journal.write(Change("c1", (AddFileOrigins("/w", ("a.py",), web),)))
        assert await ask() == (False, own | web, web, own)
        await store.journal.write(Change("c1", (CopyFileOrigins("/w", "/copy"),)))
        assert await ask() == (False, own | web, web, own | web)
        if store.peers is None:  # with other servers each question is asked again
            decoded.clear()
            await store.journal.write(Change("c1", (replace(message("m1"), role=Speaker.ASSISTANT),)))
            assert await ask() == (False, own | web, web, own | web)
            assert decoded == []
        await store.journal.write(Change("c1", (VouchForFile("/w", "a.py"),)))
        assert (await ask())[2] == {PERSON}
        await store.roots.set_trusts_contents("/w", True)
        assert (await ask())[0]
        await store.roots.remove("/w")
        assert not (await ask())[0]


@proves("ORG-1/2")
async def test_a_file_of_a_large_change_carries_what_its_folder_does(open_store: OpenStore) -> None:
    """A change of more files than are recorded one by one is recorded by its folders."""
    async with open_store() as store:
        await store.journal.write(add_chat())
        many = tuple(f"data/{number}.md" for number in range(300))
        await store.journal.write(Change("c1", (AddFileOrigins("/w", many, frozenset({"mcp:notes"})),)))
        origins = store.store.origins
        assert await origins.of_paths("/w", ["data/299.md"]) == {WORKSPACE, "mcp:notes"}
        assert await origins.of_paths("/w", ["data/later/a.md"]) == {WORKSPACE, "mcp:notes"}
        assert await origins.of_paths("/w", ["other/a.md"]) == {WORKSPACE}


@proves("ORG-1/2")
async def test_fifty_rewrites_and_one_large_download_keep_every_origin(open_store: OpenStore) -> None:
    """Rows of the store hold them, so neither a clock nor attributes of the file system can lose them."""
    async with open_store() as store:
        await store.journal.write(add_chat())
        for turn in range(50):
            rewritten = AddFileOrigins("/w", ("notes.md",), frozenset({f"web:h{turn}.example", "mcp:notes"}))
            await store.journal.write(Change("c1", (rewritten,)))
        downloaded = tuple(f"pkg/{number // 20}/{number}.js" for number in range(20_000))
        await store.journal.write(Change("c1", (AddFileOrigins("/w", downloaded, frozenset({"web:cdn.example"})),)))
        origins = store.store.origins
        assert await origins.of_paths("/w", ["notes.md"]) == {"mcp:notes", *(f"web:h{n}.example" for n in range(50))}
        assert "web:cdn.example" in await origins.of_paths("/w", ["pkg/7/later.js"])
        assert {"mcp:notes", "web:cdn.example", "web:h0.example"} <= await origins.of_workspace("/w")


@proves("ORG-1/4")
async def test_a_command_reads_as_few_rows_whatever_the_workspace_holds(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command could read is one row, and its own file's row another, beside 3 labelled files as beside 3,000."""
    rows, decode = [], origin_rows._decode
    monkeypatch.setattr(origin_rows, "_decode", lambda text: rows.append(text) or decode(text))
    async with open_store() as store:
        await store.journal.write(add_chat())
        counted = []
        for count in (3, 3_000):
            files = [f"data/{count}/{number}.md" for number in range(count)]
            for start in range(0, count, 150):
                part = tuple(files[start : start + 150])
                await store.journal.write(Change("c1", (AddFileOrigins("/w", part, frozenset({f"mcp:n{start}"})),)))
            rows.clear()
            read = await store.store.origins.of_workspace("/w")
            await store.journal.write(Change("c1", (AddFileOrigins("/w", (files[0],), read | {"web:a.example"}),)))
            await store.journal.write(Change("c1", (AddFileOrigins("/w", (files[0],), read | {"web:a.example"}),)))
            counted.append(len(rows))
        assert counted[0] == counted[1] <= 7


@proves("ORG-1/4")
@pytest.mark.parametrize("in_a_folder", [1, 20])
def test_a_change_of_any_size_writes_a_bounded_number_of_rows(in_a_folder: int) -> None:
    few, many = (
        [f"src/{number // 400}/{number // in_a_folder}/{number}.py" for number in range(count)]
        for count in (150, 50_000)
    )
    assert origin_rows.row_keys(few) == few
    assert origin_rows.row_keys(many) == [f"src/{number}/" for number in range(125)]
    assert origin_rows.row_keys([*many, "at the top.txt"])[125:] == ["/"]
