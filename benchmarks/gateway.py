"""What does the passthrough cost? Requests and streamed chunks through our server, with a client key that has limits; beside nginx
as the native floor and LiteLLM as the peer. Does other work notice?"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import uvloop

from measuring import REPOSITORY, Ground, Leg, NotMeasured, cpu_seconds_of, peer_python
from startup import line_with, running, served
from wire_load import Loaded, load, request_bytes

QUESTION = "CPU of the gateway for one request and for one streamed chunk"
TIMEOUT = 120.0
START_TIMEOUT, TELL_EVERY = 1_200.0, 15.0
REQUESTS, STREAMS, CHUNKS = 3000, 64, 100
PEER_REQUESTS, PEER_STREAMS = 60, 4
CROWD = 256
ASK = b'{"model":"stub","max_tokens":64,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"%s"}]%s}'
WHOLE = ASK % (b"How are you today? " * 4, b"")
STREAMED = ASK % (b"How are you today? " * 4, b',"stream":true')
COMPLETIONS = "/v1/chat/completions"


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with running([str(REPOSITORY / "benchmarks" / "peers" / "stub_provider.py")]) as stub:
        provider = f"http://127.0.0.1:{line_with(stub, 'port').split()[-1]}"
        yield {
            "ours": partial(_ours, ground, provider),
            "nginx": partial(_nginx, ground, provider),
            "litellm": partial(_litellm, ground, provider, {}),
            "litellm_tuned": partial(_litellm, ground, provider, TUNED),
            "other_work": partial(_other_work, ground, provider),
        }


# --- one server, asked


def _asked(url: str, key: str, pid: int, *, requests: int, streams: int, crowd: bool) -> dict[str, float]:
    """CPU of the process and its children, per request with 8 and with 256 clients, and per chunk of streams side by side."""
    whole = request_bytes(url, COMPLETIONS, key=key, body=WHOLE)
    streamed = request_bytes(url, COMPLETIONS, key=key, body=STREAMED)
    _run(load(url, whole, clients=8, requests=max(8, requests // 10), expect=b"Good day."))  # warm
    found = {"cpu_us": _cost(pid, load(url, whole, clients=8, requests=requests, expect=b"Good day."), requests)}
    chunks = streams * CHUNKS
    asking = load(url, streamed, clients=streams, requests=streams, expect=b"[DONE]")
    found["chunk_cpu_us"] = _cost(pid, asking, chunks)
    if crowd:
        asking = load(url, whole, clients=CROWD, requests=requests, expect=b"Good day.")
        found["crowd_cpu_us"] = _cost(pid, asking, requests)
    return found


def _cost(pid: int, asking: "asyncio.coroutines.Coroutine[None, None, Loaded]", units: int) -> float:
    before = _cpu_of_all(pid)
    loaded = _run(asking)
    if loaded.wrong:
        raise AssertionError(f"{loaded.wrong} of {loaded.answered} answers were wrong")
    return (_cpu_of_all(pid) - before) * 1e6 / units


def _cpu_of_all(pid: int) -> float:
    """With children that still run: workers are one process each."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_seconds_of(pid) + sum(_cpu_of_all(int(child)) for child in children)


def _run(asking: "asyncio.coroutines.Coroutine[None, None, Loaded]") -> Loaded:
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(asking)


# --- ours


def _ours(ground: Ground, provider: str) -> dict[str, float]:
    with _our_gateway(ground, provider) as (pid, url, key, _):
        return _asked(url, key, pid, requests=REQUESTS, streams=STREAMS, crowd=True)


@contextmanager
def _our_gateway(ground: Ground, provider: str) -> Iterator[tuple[int, str, str, str]]:
    """The whole server, with a client key that has every limit; and the owner's token."""
    settings = {
        "OPENAI_BASE_URL": f"{provider}/v1",
        "ANYCOWORK_MODEL": "openai/stub",
        "ANYCOWORK_PROBE_LOCAL_SERVERS": "false",
    }
    with ground.fresh("gateway") as folder, served(folder, **settings) as (process, url):
        token = (folder / "data" / "token").read_text().strip()
        limits = {"requests_per_minute": 100_000, "tokens_per_day": 10**11, "spend_per_day": 1_000_000}
        made = _post(url, "/keys", token, {"name": "bench", "limits": limits})
        yield process.pid, url, made["key"], token


def _other_work(ground: Ground, provider: str) -> dict[str, float]:
    """Reading chats while programs use the gateway, beside reading them in peace: the same readers, in turns."""
    with _our_gateway(ground, provider) as (_, url, key, token):
        chat = f"/context/{_post(url, '/context', token, {})['id']}"
        reading = partial(
            load, url, request_bytes(url, chat, key=token), clients=4, requests=200, expect=b'"idle"', pause=0.005
        )
        whole = request_bytes(url, COMPLETIONS, key=key, body=WHOLE)
        streamed = request_bytes(url, COMPLETIONS, key=key, body=STREAMED)

        async def beside() -> Loaded:
            async with asyncio.TaskGroup() as tasks:
                read = tasks.create_task(reading())
                tasks.create_task(load(url, whole, clients=8, requests=250, expect=b"Good", pause=0.04))
                tasks.create_task(load(url, streamed, clients=8, requests=8, expect=b"[DONE]"))
            return read.result()

        _run(reading())  # warm
        peace, busy = _run(reading()).p50_ms(), _run(beside()).p50_ms()
    return {"p50_ms": peace, "p50_ms_beside_gateway": busy, "p50_ratio": busy / peace}


def _post(url: str, path: str, token: str, body: object) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(url + path, json.dumps(body).encode(), headers), timeout=TIMEOUT) as answer:
        found: dict[str, str] = json.load(answer)
        return found


# --- the floor

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; keepalive_requests 10000000;
  upstream provider {{ server {provider}; keepalive 512; keepalive_requests 10000000; }}
  server {{ listen 127.0.0.1:{port} backlog=2048; location / {{
    proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }}
}}
"""


def _nginx(ground: Ground, provider: str) -> dict[str, float]:
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise NotMeasured("there is no nginx on this machine (Debian: apt install nginx-light)")
    port = _free_port()
    with ground.fresh("nginx") as folder:
        settings = folder / "nginx.conf"
        settings.write_text(NGINX.format(folder=folder, provider=provider.removeprefix("http://"), port=port))
        with _started([program, "-c", str(settings), "-e", str(folder / "error.log")], {}) as process:
            until_it_answers(f"http://127.0.0.1:{port}/v1/models", process)
            url = f"http://127.0.0.1:{port}"
            return _asked(url, "any", process.pid, requests=REQUESTS * 4, streams=STREAMS, crowd=True)


# --- the peer

CONFIG = """
model_list:
  - model_name: stub
    litellm_params: {{ model: openai/stub, api_base: {provider}/v1, api_key: sk-any }}
general_settings: {{ master_key: sk-bench }}
litellm_settings: {{ telemetry: false{more} }}
"""
# As its page on production advises: production mode, logs of errors alone and as JSON, one worker for one core.
TUNED = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION"}


def _litellm(ground: Ground, provider: str, tuning: Mapping[str, str]) -> dict[str, float]:
    python, port = peer_python("litellm"), _free_port()
    with ground.fresh("litellm") as folder:
        settings = folder / "config.yaml"
        more = ", set_verbose: false, request_timeout: 600, json_logs: true" if tuning else ""
        settings.write_text(CONFIG.format(provider=provider, more=more))
        words = [python.with_name("litellm"), "--config", settings, "--host", "127.0.0.1", "--port", port]
        environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "NO_DOCS": "True", "HOME": str(folder), **tuning}
        with _started([*map(str, words), *(["--num_workers", "1"] if tuning else [])], environment) as process:
            url = f"http://127.0.0.1:{port}"
            until_it_answers(f"{url}/health/liveliness", process)
            return _asked(url, "sk-bench", process.pid, requests=PEER_REQUESTS, streams=PEER_STREAMS, crowd=False)


@contextmanager
def _started(words: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANYCOWORK_"))}
    process = subprocess.Popen(
        words, env={**kept, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def until_it_answers(
    url: str, process: subprocess.Popen[bytes], *, timeout: float = START_TIMEOUT, one_look: float = 5.0
) -> None:
    """Returns when the server answers. As long as its process lives it is waited for: beside other work a start may take minutes.

    Raises: NotMeasured if the process has ended, or still gives no answer after `patience` seconds.
    """
    name, began = Path(str(process.args[0])).name, time.monotonic()  # type: ignore[index]  # a list: see _started
    told = began
    while process.poll() is None:
        try:
            with urlopen(url, timeout=one_look):
                return
        except OSError:  # refused, or no answer in time
            time.sleep(0.2)
        now = time.monotonic()
        if now - began > timeout:
            raise NotMeasured(f"{name} did not answer within {timeout:g} s")
        if now - told > TELL_EVERY:
            told = now
            print(f"  {name} is still starting ({now - began:.0f} s) …", file=sys.stderr, flush=True)
    raise NotMeasured(f"{name} ended with {process.returncode} before it answered")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
