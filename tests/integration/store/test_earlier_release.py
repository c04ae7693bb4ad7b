"""Data of an earlier release: `tests/support/earlier_release` holds a database as its server left it, and what that server answered."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from support.live_server import live_server
from support.spec import proves

EARLIER = Path(__file__).resolve().parents[2] / "support" / "earlier_release"


def data_folder_of_earlier_release(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    shutil.copy(EARLIER / "audit-heads.jsonl", folder)
    path = folder / "anycowork.db"
    with sqlite3.connect(path) as database:
        database.executescript((EARLIER / "anycowork.sql").read_text("utf-8"))
    database.close()
    path.chmod(0o600)
    return path


def missing(earlier: Any, now: Any, at: str = "") -> list[str]:
    """The places where something of the earlier answer is gone or different. New fields are fine."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        return [fault for key, part in earlier.items() for fault in missing(part, now.get(key), f"{at}.{key}")]
    if isinstance(earlier, list) and isinstance(now, list) and len(earlier) == len(now):
        pairs = enumerate(zip(earlier, now, strict=True))
        return [fault for place, (one, other) in pairs for fault in missing(one, other, f"{at}[{place}]")]
    return [] if earlier == now else [f"{at}: {earlier!r} became {now!r}"]


@proves("OPS-4/7")
async def test_data_folder_of_an_earlier_release_opens_unchanged(tmp_path: Path) -> None:
    path = data_folder_of_earlier_release(tmp_path)
    with sqlite3.connect(path) as database:
        records = database.execute("SELECT * FROM records ORDER BY chat_id, seq").fetchall()
    database.close()
    async with live_server(tmp_path) as client:
        for address, earlier in json.loads((EARLIER / "answers.json").read_text("utf-8")).items():
            assert not missing(earlier, await client.ask("GET", address))
        audit = await client.ask("POST", "/audit/verify")
        assert audit["full"] and audit["chains"] > 2 and not audit["broken"], audit
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT * FROM records ORDER BY chat_id, seq").fetchall() == records
    database.close()
