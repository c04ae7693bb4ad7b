"""`make bench-quick`: the six hot paths, each beside its bare baseline in the same run, beside the ratios that are committed.

Every figure is the least of many short bursts, ours and the baseline in turn: other work on the machine makes a burst dearer, never cheaper.
Ends with 1 if a ratio is worse than the committed one by more than a tenth. `--write` commits the new ones to results/quick.json.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import agent_loop
import gateway
import sandbox
import startup
from measuring import BENCH_FOLDER, REPOSITORY, Ground, cpu_seconds_of, machine
from wire_load import load, request_bytes

COMMITTED = REPOSITORY / "benchmarks" / "results" / "quick.json"
TOLERANCE = 1.10
BURSTS = 12
REQUESTS, STREAMS = 150, 16
Burst = Callable[[], float]


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the hot paths beside their bare baselines.")
    parser.add_argument("--write", action="store_true", help="commit these ratios as the ones to compare with")
    arguments = parser.parse_args()
    committed = json.loads(COMMITTED.read_text("utf-8"))["ratios"] if COMMITTED.is_file() else {}
    ground = Ground(BENCH_FOLDER / "quick")
    ratios: dict[str, float] = {}
    print(f"  {'':<34}{'ours':>10}{'bare':>10}{'ratio':>8}{'committed':>11}")
    with ExitStack() as open_legs:
        for name, ours, bare, bursts in measurements(ground, open_legs):
            least_ours, least_bare = least(ours, bare, bursts)
            ratios[name] = round(least_ours / least_bare, 3)
            known = committed.get(name)
            verdict = "" if known is None or ratios[name] <= known * TOLERANCE else "  WORSE"
            shown = f"{known:>11.2f}" if known is not None else f"{'-':>11}"
            print(f"  {name:<34}{least_ours:>10.4g}{least_bare:>10.4g}{ratios[name]:>8.2f}{shown}{verdict}", flush=True)
    if arguments.write:
        COMMITTED.write_text(json.dumps({"machine": machine(), "ratios": ratios}, indent=1) + "\n", "utf-8")
    return int(any(ratio > committed.get(name, ratio) * TOLERANCE for name, ratio in ratios.items()))


def least(ours: Burst, bare: Burst, bursts: int) -> tuple[float, float]:
    """Returns the least of each side, measured in turn."""
    pairs = [(ours(), bare()) for _ in range(bursts)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def measurements(ground: Ground, legs: ExitStack) -> Iterator[tuple[str, Burst, Burst, int]]:
    """Yields each figure with a burst of ours, a burst of the baseline, and how often they are run."""
    yield from _gateway(ground, legs)
    words = {"tool": agent_loop.LOOK_UP, "parameters": agent_loop.WORDS}
    for name, agents, turns, bursts in (("agent step, us", 1, 2, 8), ("agent step, 64 agents, us", 64, 1, 3)):
        ours = partial(agent_loop._ours, ground, agents=agents, turns=turns, **words)
        bare = partial(agent_loop._bare, ground, chats=agents, transactions=3)
        yield name, _only(ours, "cpu_us"), _only(bare, "cpu_us"), bursts
    commands = legs.enter_context(sandbox.legs(ground))
    yield "sandboxed command, ms", _only(commands["overlay"], "cpu_ms"), _only(commands["plain"], "cpu_ms"), 4
    starts = legs.enter_context(startup.legs(ground))
    yield "start-up, CPU s", _only(starts["second_start"], "cpu_s"), _only(starts["bare_app"], "cpu_s"), 3
    yield "idle memory, MB", _only(starts["second_start"], "pss_mb"), _only(starts["bare_app"], "pss_mb"), 1


def _only(leg: Callable[[], dict[str, float]], unit: str) -> Burst:
    return lambda: leg()[unit]


def _gateway(ground: Ground, legs: ExitStack) -> Iterator[tuple[str, Burst, Burst, int]]:
    peers = REPOSITORY / "benchmarks" / "peers"
    stub = legs.enter_context(startup.running([str(peers / "stub_provider.py")]))
    provider = f"http://127.0.0.1:{startup.line_with(stub, 'port').split()[-1]}"
    pid, url, key, _ = legs.enter_context(gateway._our_gateway(ground, provider))
    proxy = legs.enter_context(_bare_proxy(provider))
    for name, body, requests, clients, units, expect in (
        ("gateway request, us", gateway.WHOLE, REQUESTS, 8, REQUESTS, b"Good day."),
        ("gateway chunk, us", gateway.STREAMED, STREAMS, STREAMS, STREAMS * gateway.CHUNKS, b"[DONE]"),
    ):
        sides = []
        for server, address, token in ((pid, url, key), (*proxy, "any")):
            request = request_bytes(address, gateway.COMPLETIONS, key=token, body=body)
            asking = partial(load, address, request, clients=clients, requests=requests, expect=expect)
            sides.append(partial(_burst, server, asking, units))
            sides[-1]()  # warm
        yield name, sides[0], sides[1], BURSTS


@contextmanager
def _bare_proxy(provider: str) -> Iterator[tuple[int, str]]:
    script = REPOSITORY / "benchmarks" / "peers" / "bare_proxy.py"
    with startup.running([str(script), provider]) as process:
        yield process.pid, f"http://127.0.0.1:{startup.line_with(process, 'port').split()[-1]}"


def _burst(pid: int, asking: Callable[[], object], units: int) -> float:
    """Returns the microseconds of CPU that the server spent on each unit."""
    before = cpu_seconds_of(pid)
    loaded = gateway._run(asking())
    if loaded.wrong:
        raise AssertionError(f"{loaded.wrong} of {loaded.answered} answers were wrong")
    return (cpu_seconds_of(pid) - before) * 1e6 / units


if __name__ == "__main__":
    sys.exit(main())
