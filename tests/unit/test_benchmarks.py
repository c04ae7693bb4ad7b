"""The benchmarks' own bookkeeping: targets that mean something, and a comparison that fails when it must. Nothing is measured here."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from subprocess import PIPE

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judging
from gateway import until_it_answers
from judging import BadTarget, Judgement, Op, Target, Verdict, breached, judge, read_targets
from measuring import NotMeasured, in_rounds
from run import BENCHMARKS, HERE, result, targets, verdicts
from workplace import LOOK_UP, InstantModel, open_workplace

AT_MOST_TWICE = Target("ours costs at most twice theirs", "loop.ours.cpu_us", "loop.theirs.cpu_us", Op.AT_MOST, 2.0)
COSTS = st.lists(st.floats(min_value=0.001, max_value=1e6), min_size=1, max_size=9)


def test_every_target_names_a_leg_of_a_benchmark_that_exists() -> None:
    found = targets()
    assert len({target.name for target in found}) == len(found) >= 6
    for target in found:
        for figure in filter(None, (target.ratio, target.vs, target.minus)):
            benchmark, leg, _ = figure.split(".")
            assert benchmark in BENCHMARKS
            assert any(re.fullmatch(named, leg) for named in _named_in(HERE / f"{benchmark}.py")), figure


def _named_in(source: Path) -> Iterator[str]:
    """Every text written in it, as a pattern: what a formatted one fills in may be anything but empty."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.Constant) for part in node.values):
            yield "".join(re.escape(part.value) if isinstance(part, ast.Constant) else ".+" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)


def test_every_benchmark_is_a_file_and_every_peer_is_pinned_by_hash() -> None:
    assert all((HERE / f"{name}.py").is_file() for name in BENCHMARKS)
    pinned = list(Path(HERE, "peers").glob("*.txt"))
    assert pinned and all("--hash=sha256:" in file.read_text("utf-8") for file in pinned)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_can_be_loaded_and_has_a_question_and_legs(name: str) -> None:
    benchmark = import_module(name)
    assert isinstance(benchmark.QUESTION, str) and callable(benchmark.legs)


async def test_the_workplace_of_the_benchmarks_still_fits_the_program(tmp_path: Path) -> None:
    async with open_workplace(tmp_path, InstantModel(1, LOOK_UP, {"word": "{number}"})) as workplace:
        chat = await workplace.open_chat()
        await workplace.turn(chat)
        assert len(await workplace.database.store.messages.all(chat.id)) == 4


def test_a_ratio_above_its_bound_is_missed_and_breaches_the_run() -> None:
    judgement = judge(AT_MOST_TWICE, {"loop.ours.cpu_us": [21.0], "loop.theirs.cpu_us": [10.0]})
    assert judgement == Judgement(AT_MOST_TWICE, Verdict.MISSED, 2.1)
    assert breached([judgement])
    assert "MISSED" in verdicts([judgement]) and AT_MOST_TWICE.name in verdicts([judgement])


def test_a_ratio_at_its_bound_is_met() -> None:
    judgement = judge(AT_MOST_TWICE, {"loop.ours.cpu_us": [20.0], "loop.theirs.cpu_us": [10.0]})
    assert judgement.verdict is Verdict.MET and not breached([judgement])


def test_at_least_fails_below_its_bound() -> None:
    target = Target("many", "appends.ours.per_cpu_second", None, Op.AT_LEAST, 100)
    assert judge(target, {"appends.ours.per_cpu_second": [99.0]}).verdict is Verdict.MISSED
    assert judge(target, {"appends.ours.per_cpu_second": [100.0]}).verdict is Verdict.MET


def test_the_ratio_is_taken_inside_each_round_before_the_median() -> None:
    # Medians of each side alone would say 10 / 10; side by side, ours cost four times theirs in most rounds.
    figures = {"loop.ours.cpu_us": [4.0, 10.0, 40.0], "loop.theirs.cpu_us": [1.0, 100.0, 10.0]}
    assert judge(AT_MOST_TWICE, figures).value == 4.0


def test_a_difference_is_taken_inside_each_round() -> None:
    target = Target("at most 5 more", "loop.ours.cpu_ms", None, Op.AT_MOST, 5.0, minus="loop.theirs.cpu_ms")
    figures = {"loop.ours.cpu_ms": [6.0, 20.0, 7.0], "loop.theirs.cpu_ms": [2.0, 14.0, 1.0]}
    assert judge(target, figures) == Judgement(target, Verdict.MISSED, 6.0)
    assert judge(target, {**figures, "loop.theirs.cpu_ms": [2.0, 16.0, 2.0]}).verdict is Verdict.MET


def test_a_target_with_two_figures_beside_it_is_refused() -> None:
    text = '[[target]]\nname = "x"\nratio = "a.b.c"\nvs = "a.d.c"\nminus = "a.e.c"\nop = "<="\nbound = 1\n'
    with pytest.raises(BadTarget, match="'vs' or 'minus'"):
        read_targets(text)


def test_what_was_not_measured_is_neither_met_nor_a_breach_and_says_so() -> None:
    judgement = judge(AT_MOST_TWICE, {"loop.ours.cpu_us": [1.0]})
    assert judgement.verdict is Verdict.NOT_MEASURED and judgement.value is None
    assert not breached([judgement]) and "not measured" in verdicts([judgement])


@given(COSTS, st.floats(min_value=0.01, max_value=100))
def test_one_slow_side_is_found_whatever_the_machine_does(costs: list[float], slower: float) -> None:
    figures = {"loop.ours.cpu_us": [cost * slower for cost in costs], "loop.theirs.cpu_us": costs}
    value = judge(AT_MOST_TWICE, figures).value
    assert value == pytest.approx(slower)


@pytest.mark.parametrize(
    "words",
    [
        'name = "a"\nratio = "b.c.d"\nop = "<"\nbound = 1',
        'name = "a"\nratio = "b.c.d"\nop = "<="\nbound = "1"',
        'name = "a"\nratio = "b.c.d"\nop = "<="\nbound = true',
        'name = "a"\nop = "<="\nbound = 1',
        'name = "a"\nratio = "b.c.d"\nop = "<="\nbound = 1\nwall_clock = 3',
    ],
)
def test_a_target_that_cannot_be_judged_is_refused(words: str) -> None:
    with pytest.raises(BadTarget):
        read_targets(f"[[target]]\n{words}")


def test_every_leg_has_its_turn_in_every_round_and_a_missing_peer_is_named() -> None:
    order: list[str] = []

    def leg(name: str) -> dict[str, float]:
        order.append(name)
        if name == "peer":
            raise NotMeasured("no registry can be reached")
        return {"cpu_us": 1.0}

    measured = in_rounds({name: (lambda name=name: leg(name)) for name in ("a", "b", "peer")}, 6)
    assert measured.figures == {"a.cpu_us": [1.0] * 6, "b.cpu_us": [1.0] * 6}
    assert measured.missing == {"peer": "no registry can be reached"}
    assert {"a", "b"} <= set(order[:3]) and order.count("peer") == 1
    assert len({tuple(pair) for pair in zip(order[3::2], order[4::2], strict=False)}) == 2, "the order never changed"


def test_a_result_keeps_every_round_beside_the_median() -> None:
    kept = result({"cores": 2}, 3, {"a.b.c": [1.0, 3.0, 2.0]}, {}, [judge(AT_MOST_TWICE, {})])
    assert kept["figures"] == {"a.b.c": {"median": 2.0, "rounds": [1.0, 3.0, 2.0]}}
    assert judging.Verdict.NOT_MEASURED.value in str(kept["targets"])


# --- waiting for a peer

HONEST = "from http.server import *; s = HTTPServer(('127.0.0.1', 0), BaseHTTPRequestHandler); print(s.server_port, flush=True); {}"


@contextmanager
def _peer(then: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server that listens from the start, and does `then`; and its address."""
    process = subprocess.Popen([sys.executable, "-c", HONEST.format(then)], stdout=PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}", process
        finally:
            process.kill()


def test_a_peer_that_is_slow_to_answer_is_waited_for_as_long_as_it_lives() -> None:
    """Its port is open long before it answers, as that of a server that loads its libraries."""
    first_is_lost = "c, _ = s.socket.accept(); c.close(); s.serve_forever()"
    with _peer(f"s.RequestHandlerClass.do_GET = lambda h: h.send_error(200); {first_is_lost}") as (url, process):
        until_it_answers(url, process, timeout=30)
        assert process.poll() is None


def test_a_peer_that_ends_is_not_waited_for_and_its_end_is_told() -> None:
    with _peer("raise SystemExit(3)") as (url, process), pytest.raises(NotMeasured, match="ended with 3"):
        until_it_answers(url, process, timeout=30)


def test_a_peer_that_never_answers_is_given_up() -> None:
    with _peer("__import__('signal').pause()") as (url, process), pytest.raises(NotMeasured, match="not answer within"):
        until_it_answers(url, process, timeout=0, one_look=0.1)
