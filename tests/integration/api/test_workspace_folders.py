"""Who may register a folder is offered the folders that its path may be completed to."""

import os
from pathlib import Path

from support.live_server import live_server
from support.people import person


async def test_a_path_is_completed_folder_by_folder_for_managers_alone(tmp_path: Path) -> None:
    for name in ("projects/alpha", "projects/Alps", "projects/beta", "projects/.hidden"):
        (tmp_path / "home" / name).mkdir(parents=True)
    os.mkdir(os.fsencode(tmp_path) + b"/home/projects/al\xff")  # noqa: PTH102  # no text names it
    (tmp_path / "home/projects/alarm.txt").write_text("a file")
    projects = str(tmp_path / "home/projects")
    async with live_server(tmp_path, replies=[]) as client:

        async def offered(path: str) -> list[str]:
            found = await client.ask("GET", "/workspaces/folders", params={"path": path})
            return [folder.removeprefix(f"{projects}/") for folder in found["folders"]]

        assert await offered(f"{projects}/") == ["Alps", "alpha", "beta"]
        assert await offered(f"{projects}/al") == ["Alps", "alpha"]
        assert await offered(f"{projects}/.") == [".hidden"]
        for unreadable in (f"{projects}/alarm.txt/", f"{projects}/missing/x", "relative", f"{projects}/a\0"):
            assert await offered(unreadable) == []
        async with person(client, "Ada") as ada:
            refused = await ada.ask("GET", "/workspaces/folders", params={"path": "/"}, expect=403)
            assert refused["error"]["code"] == "not_allowed"
