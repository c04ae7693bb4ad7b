"""The example of a plugin, built as its author would build it, unpacked as `pip install --target` does, and used in a server."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "word-tools"


def built(tmp_path: Path) -> Path:
    source = shutil.copytree(EXAMPLE, tmp_path / "source")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheels")]
    subprocess.run(words, cwd=source, check=True, capture_output=True, timeout=60)
    [wheel] = (tmp_path / "wheels").glob("*.whl")
    return wheel


@proves("TOOL-2")
async def test_the_example_is_built_installed_switched_on_and_used(tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tmp_path)) as wheel:
        wheel.extractall(tmp_path / "data" / "plugins")
    replies = [
        call("frequent_words", path="fruit.txt", most=1),
        call("to_roman", number=2026),
        call("to_roman", number=0),
        call("sort_lines", path="fruit.txt"),
        "Sorted.",
    ]
    files = {"fruit.txt": "plum\napple\nplum\n"}
    async with live_server(tmp_path, replies=replies, files=files, plugins=("word-tools",)) as client:
        [found] = (await client.ask("GET", "/settings"))["plugins_found"]
        assert found == {"name": "word-tools", "version": "1.0.0", "on": True, "tools": 3, "problems": []}
        chat = await client.chat()
        assert (await chat.send("Sort my fruit"))["state"] == "awaiting_approval"
        await chat.decide()
        told = [message["content"] for message in await chat.of_type("tool_result")]
        assert told[0] == '{\n  "plum": 2\n}' and told[1] == "MMXXVI"
        assert told[2] == "'to_roman' failed: 0 cannot be written with Roman numerals; give one from 1 to 3999."
        assert told[3].startswith("3 lines are in order.")
        assert (client.workspace / "fruit.txt").read_text() == "apple\nplum\nplum\n"
