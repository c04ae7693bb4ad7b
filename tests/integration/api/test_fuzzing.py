import asyncio
import os

from anycowork.api.application import create_api
from anycowork.server.uvicorn_server import ListenAddress, serve_app
from support.fuzzing import LEFT_OUT, Fuzzer

EXAMPLES = int(
    os.environ.get("ANYCOWORK_FUZZ_EXAMPLES", "2")
)  # fitting and unfitting ones each; `make fuzz` sends more


async def test_no_request_that_the_description_allows_or_forbids_breaks_the_server(client, services, model):
    chat_id = (await client.post("/context", {})).json()["id"]
    document = (await client.get("/openapi.json")).json()
    model.replies += ["Well."] * 200
    stopping, port = asyncio.Event(), asyncio.get_running_loop().create_future()

    def run(port: int) -> list[str]:
        fuzzer = Fuzzer(f"http://127.0.0.1:{port}", services.access.token, {"chat_id": chat_id}, examples=EXAMPLES)
        return list(fuzzer.run(document))

    async with asyncio.TaskGroup() as tasks:
        place = ListenAddress("127.0.0.1", 0, grace_seconds=2)
        serving = serve_app(create_api(services), place, stopping=stopping, ready=port.set_result, handle_signals=False)
        tasks.create_task(serving)
        try:
            held = await asyncio.to_thread(run, await port)
        finally:
            stopping.set()
    assert len(held) == sum(len(methods) for path, methods in document["paths"].items() if path not in LEFT_OUT)
