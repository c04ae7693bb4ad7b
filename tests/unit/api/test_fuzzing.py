import asyncio

import uvicorn

from anycowork.api.build import create_api
from support.fuzzing import fuzz


async def test_no_request_that_the_description_allows_or_forbids_breaks_the_server(client, rooms, model):
    chat_id = (await client.post("/context", {})).json()["id"]
    document = (await client.get("/openapi.json")).json()
    model.replies += ["Well."] * 50
    config = uvicorn.Config(create_api(rooms), port=0, log_config=None, access_log=False)
    server = uvicorn.Server(config)

    def run(port: int) -> list[str]:
        return list(fuzz(f"http://127.0.0.1:{port}", rooms.token, document, {"chat_id": chat_id}, examples=5))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        try:
            held = await asyncio.to_thread(run, await _port(server))
        finally:
            server.should_exit = True
    assert len(held) == sum(len(methods) for methods in document["paths"].values()) - 2  # all but the two streams
