"""Writes web/src/wire/api.gen.ts from the server's own /openapi.json; `make wire` runs it. With --check it only compares.

Ends with 1, and says why, if the committed types no longer describe this server."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from webui import WEB, BuildFailed, NoNetwork, NoNode, write_types  # the lines above make these importable

from support.live_server import live_server

TYPES = WEB / "src" / "wire" / "api.gen.ts"


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        description, fresh = Path(folder, "openapi.json"), Path(folder, "api.gen.ts")
        description.write_text(json.dumps(asyncio.run(described(Path(folder)))), "utf-8")
        try:
            write_types(description, fresh)
        except (NoNode, NoNetwork, BuildFailed) as error:
            print(f"web UI: {error}", file=sys.stderr)
            return 1
        if arguments != ["--check"]:
            TYPES.write_text(fresh.read_text("utf-8"), "utf-8")
        elif not TYPES.is_file() or TYPES.read_text("utf-8") != fresh.read_text("utf-8"):
            print("web/src/wire/api.gen.ts is out of date. Run `make wire` and commit it.", file=sys.stderr)
            return 1
    return 0


async def described(folder: Path) -> object:
    async with live_server(folder) as client:
        return await client.ask("GET", "/openapi.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
