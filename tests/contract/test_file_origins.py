"""Any store: the origins of file versions are joined, by path, by folder and for the workspace, and a name that is not UTF-8 has them too."""

from anycowork.domain.journal import AddFileOrigins, Change
from anycowork.domain.origins import WORKSPACE
from support.spec import proves
from support.store_factories import OpenStore
from support.stored import add_chat


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
