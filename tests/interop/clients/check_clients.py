"""Programs that people point at the passthrough, each with a prompt of its own and nobody at the keyboard. `make test-interop` runs
this: they are large, and installed in places of their own."""

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from support.api_fixtures import migrated
from support.real_clients import ANSWER, Place, place
from support.spec import proves

__all__ = ["migrated", "place"]

CLIENTS = Path(__file__).parents[3] / ".venv" / "interop"
WHOLE_PROCESS = 100.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


def typed(home: Path, *words: str, **environment: str) -> str:
    """What the program printed, run in its own home; fails if it ended badly."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANYCOWORK_", "XDG_"))
    }
    done = subprocess.run(
        words,
        cwd=home / "work",
        env={**inherited, "HOME": str(home), "PWD": str(home / "work"), "NO_COLOR": "1", "TERM": "dumb", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WHOLE_PROCESS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def counted(place: Place) -> dict:
    return place.keys()[-1]["today"]


# --- llm


def llm(place: Place, home: Path, *words: str) -> str:
    folder = home / "llm"
    folder.mkdir(exist_ok=True)
    model = {"model_id": "house", "model_name": "scripted", "api_base": place.through, "supports_tools": True}
    model |= {"api_key_name": "house"}  # without it, llm sends no key at all
    (folder / "extra-openai-models.yaml").write_text(json.dumps([model]))  # JSON is YAML too
    program = str(CLIENTS / "llm" / "bin" / "llm")
    return typed(home, program, "prompt", "-m", "house", "--key", place.key(), *words, LLM_USER_PATH=str(folder))


@proves("GW-1")
@pytest.mark.parametrize("way", [(), ("--no-stream",)], ids=["streamed", "whole"])
def test_llm_prints_the_answer(place, home, way):
    assert llm(place, home, "hi", *way).strip() == ANSWER
    assert counted(place)["requests"] == 1


@proves("GW-1")
def test_llm_calls_its_tools(place, home):
    tool = 'def weather(city: str, days: int) -> str:\n    return f"{days} days of rain in {city}"'
    assert "It says: 3 days of rain in Ulm" in llm(place, home, "hi", "--functions", tool)
    assert counted(place)["requests"] == 2


# --- aider


@proves("GW-1")
@pytest.mark.parametrize("way", ["--stream", "--no-stream"])
def test_aider_edits_a_file(place, home, way):
    file = home / "work" / "greeting.txt"
    file.write_text("Hello.\n")
    words = "--no-git --yes-always --no-show-model-warnings --no-check-update --analytics-disable --no-gitignore --no-pretty"
    typed(
        home,
        str(CLIENTS / "aider" / "bin" / "aider"),
        *words.split(),
        way,
        *("--model", "openai/edits", "--edit-format", "whole", "--map-tokens", "0", "--message", "Be more formal."),
        *("--openai-api-base", place.through, "--openai-api-key", place.key(), "greeting.txt"),
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
    assert file.read_text() == "Good day.\n"
    assert counted(place)["requests"] >= 1


# --- opencode


@proves("GW-1")
def test_opencode_runs_a_command_and_tells_of_it(place, home):
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": place.through, "apiKey": place.key()},
        "models": {"agent": {"tool_call": True}},
    }
    settings = {"provider": {"house": provider}, "autoupdate": False, "share": "disabled", "permission": "allow"}
    said = typed(
        home,
        str(CLIENTS / "opencode" / "node_modules" / f"opencode-linux-{machine}" / "bin" / "opencode"),
        *("run", "--model", "house/agent", "--title", "A test", "Make a file, please."),
        OPENCODE_CONFIG_CONTENT=json.dumps(settings),
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_AUTOUPDATE="1",
    )
    assert (home / "work" / "made.txt").read_text() == "made\n"
    assert "It says" in said
    assert counted(place)["requests"] >= 2
