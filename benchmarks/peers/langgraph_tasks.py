"""LangGraph's side of the task graph, run in an environment of its own: the same tasks as nodes, its SQLite checkpointer. Prints JSON."""

import json
import operator
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Done(TypedDict):
    done: Annotated[list[str], operator.add]


def main(folder: str, distances: str, count: str) -> None:
    graph = StateGraph(Done)
    needs = {
        number: [number - distance for distance in map(int, distances.split(",")) if number >= distance]
        for number in range(int(count))
    }
    for number in needs:
        graph.add_node(f"t{number}", lambda state, name=f"t{number}": {"done": [name]})
    for number, before in needs.items():
        graph.add_edge([f"t{one}" for one in before] if before else START, f"t{number}")
    last = sorted(needs.keys() - {one for before in needs.values() for one in before})
    graph.add_edge([f"t{one}" for one in last], END)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "checkpoints.db", check_same_thread=False)
        compiled = graph.compile(checkpointer=SqliteSaver(connection))
        began = time.process_time()
        found = compiled.invoke(
            {"done": []}, {"configurable": {"thread_id": "one"}, "recursion_limit": len(needs) + 10}
        )
        spent = time.process_time() - began
        connection.close()
    if sorted(found["done"]) != sorted(f"t{number}" for number in needs):
        raise AssertionError("not every task ran")
    print(json.dumps({"us_per_task": spent * 1e6 / len(needs)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
