"""OpenAI's own client for Node: what it sees through the gateway is what it sees without it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.real_clients import ANSWER, Place
from support.spec import proves

SDK = Path(__file__).parent / "sdk"
SCRIPTS = Path(__file__).parents[2] / "scripts"
WHOLE_PROCESS = 60.0


@proves("GW-1")
def test_the_whole_walk_is_the_same_through_the_gateway(place):
    subprocess.run([sys.executable, str(SCRIPTS / "interop.py"), "sdk"], check=True, timeout=240)
    key = place.key()
    before = len(place.model.raw)
    direct = walk(place.direct, "any")
    sent = place.model.raw[before:]
    through = walk(place.through, key)
    assert through == direct
    assert place.model.raw[before + len(sent) :] == sent

    assert through["whole"]["choices"][0]["message"]["content"] == through["response"] == ANSWER
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in through["streamed"] if c["choices"]) == ANSWER
    assert through["tools"] == {"name": "weather", "arguments": '{"city": "Ulm", "days": 3}', "answer": "It says: rain"}
    assert {status: refused["status"] for status, refused in through["refused"].items()} == {
        "400": 400,
        "404": 404,
        "429": 429,
        "500": 500,
    }
    assert through["refused"]["429"]["after"] == "7"
    assert (through["broken"], through["left"]) == (True, "chat.completion.chunk")
    assert_counted(place, len(sent))


def walk(url: str, key: str) -> dict:
    node = subprocess.run(
        [sys.executable, "-c", "import webui; print(webui.find_node())"],
        cwd=SCRIPTS,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    environment = {**os.environ, "BASE_URL": url, "API_KEY": key}
    done = subprocess.run(
        [node, "walk.mjs"], cwd=SDK, env=environment, capture_output=True, text=True, timeout=WHOLE_PROCESS, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_counted(place: Place, asked: int) -> None:
    used = place.keys()[-1]["today"]
    assert used["requests"] == asked + 1  # and the list of models
