"""Another vendor's agent that floods its pipe or breaks the protocol: the server stays bounded, goes on, and keeps its log clean."""

import logging
import sys
from pathlib import Path

import pytest

from anycowork.config.settings import AgentEntry
from support.live_server import LiveChat, live_server

PROGRAM = str(Path(__file__).parents[1] / "support" / "raw_acp_agent.py")


async def answered(tmp_path: Path, what: str) -> tuple[str, str]:
    """The status and the text of the agent's result, once a person allowed its start."""
    agents = {"raw": AgentEntry(command=(sys.executable, "-I", "-S", PROGRAM, what), seconds=60)}
    async with live_server(tmp_path, files={"a.txt": "old\n"}, agents=agents) as client:
        chat = await client.chat(model="agent/raw")
        await chat.send("Go.")
        await chat.decide()
        return await _result(chat)


async def _result(chat: LiveChat) -> tuple[str, str]:
    (result,) = await chat.of_type("tool_result")
    return result["payload"]["status"], result["content"]


@pytest.mark.parametrize(
    ("what", "why"), [("long_line", "a line was too long"), ("dense_line", "a message has too many values")]
)
async def test_a_message_that_would_take_too_much_is_not_read_and_ends_the_agent(
    tmp_path: Path, what: str, why: str
) -> None:
    """A line without end would be kept whole in memory; parsing a dense one held everybody else's requests for seconds."""
    status, text = await answered(tmp_path, what)
    assert status == "error" and why in text and "went on" not in text


@pytest.mark.parametrize("what", ["no_messages", "deep_line"])
async def test_lines_that_are_no_messages_are_passed_over_and_fill_no_log(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of them brought a traceback into the server's log, and one that was no object ended the agent's connection."""
    with caplog.at_level(logging.WARNING):
        assert await answered(tmp_path, what) == ("ok", "went on")
    assert [record.getMessage() for record in caplog.records if record.name == "root"] == []


async def test_half_of_a_surrogate_pair_does_not_lose_the_agents_answer(tmp_path: Path) -> None:
    """It cannot be stored: the turn failed with an internal error after the changes had been made."""
    status, text = await answered(tmp_path, "half_a_pair")
    assert status == "ok" and text.startswith("half ? of a pair, and \U0001f600 whole\nwent on")
    assert (tmp_path / "workspace" / "a.txt").read_text() == "new\n"


async def test_an_agent_that_asks_for_everything_at_once_starts_no_crowd_of_processes(tmp_path: Path) -> None:
    """Each file that it asks for is a process with pipes of the server: 200 of them left no descriptors for others."""
    status, text = await answered(tmp_path, "many_reads")
    assert status == "ok" and text.startswith("200 answers, ") and "At most 32 requests" in text
    assert "sandbox" not in text, "all that were taken were answered"


async def test_requests_that_no_program_can_be_started_for_are_refused_and_fill_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        status, text = await answered(tmp_path, "odd_requests")
    assert status == "ok" and "Internal error" not in text and "False" in text, text
    assert [record.getMessage() for record in caplog.records if record.name == "root"] == []
