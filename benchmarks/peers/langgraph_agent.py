"""LangGraph's side, run in an environment of its own: the prebuilt agent, one tool, its SQLite checkpointer. Prints one line of JSON."""

import json
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver


class InstantModel(BaseChatModel):
    """Answers at once: so many calls of one tool, each with other parameters, then a sentence."""

    calls: int

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(self, tools: Any, **given: Any) -> "InstantModel":
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **given: Any
    ) -> ChatResult:
        made = sum(message.type == "ai" for message in messages)
        return ChatResult(generations=[ChatGeneration(message=self._reply(made))])

    def _reply(self, made: int) -> AIMessage:
        if made >= self.calls:
            return AIMessage("All of it was looked up.")
        call = {"name": "look_up", "args": {"word": f"word {made}"}, "id": f"call-{made}"}
        return AIMessage("", tool_calls=[call])


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word}: " + "a short definition that says what the word means. " * 4


def main(calls: int, turns: int, agents: int, folder: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "checkpoints.db", check_same_thread=False)
        agent = create_agent(InstantModel(calls=calls), [look_up], checkpointer=SqliteSaver(connection))
        _turn(agent, calls, "warm")
        costs = [_cpu_of_turns(agent, calls, turn, agents) for turn in range(turns)]
        synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
        journal_mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        connection.close()
    if (journal_mode, synchronous) != ("wal", 2):
        raise SystemExit(f"not as durable as the others: {journal_mode}, synchronous = {synchronous}")
    print(json.dumps({"us_per_iteration": [cost * 1e6 / calls / agents for cost in costs]}))


def _cpu_of_turns(agent: Any, calls: int, turn: int, agents: int) -> float:
    """CPU seconds of one turn of each agent, all at the same time, each in a chat of its own."""
    began = time.process_time()
    with ThreadPoolExecutor(agents) as together:
        for ended in [together.submit(_turn, agent, calls, f"{turn}-{number}") for number in range(agents)]:
            ended.result()
    return time.process_time() - began


def _turn(agent: Any, calls: int, chat: str) -> None:
    config = {"configurable": {"thread_id": chat}, "recursion_limit": 4 * calls}
    state = agent.invoke({"messages": [("user", "Look all the words up, one after the other.")]}, config)
    if len(state["messages"]) != 2 * calls + 2:
        raise SystemExit(f"expected {2 * calls + 2} messages, found {len(state['messages'])}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
