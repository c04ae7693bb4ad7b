"""The floor of a start: FastAPI with one route, aiohttp imported, under uvicorn with the same event loop and parser as ours."""

import asyncio
import socket

import aiohttp
import uvicorn
import uvloop
from fastapi import FastAPI

app = FastAPI()


@app.get("/healthz")
async def health() -> dict[str, str]:
    return {"status": "ok", "client": aiohttp.__version__}


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none"))
    print("port", listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(main())
