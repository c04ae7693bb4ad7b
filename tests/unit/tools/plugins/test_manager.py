"""Switching plugins on: what they say of themselves in the sandbox, and what becomes of those that say nonsense."""

import pytest

from anycowork.domain.messages import Json
from support.distributions import PluginBench
from support.spec import proves

GOOD = """
    @tool
    def greet(name: str) -> str:
        "Greet somebody."
        return f"Hello, {name}"

    tools = [greet]
"""


async def report(bench: PluginBench, *names: str, sandboxed: bool = True) -> list[Json]:
    plugins = bench.plugins(sandboxed=sandboxed)
    await plugins.enable(names)
    return plugins.report()


@proves("TOOL-2")
async def test_nothing_is_used_because_it_is_installed(bench: PluginBench) -> None:
    bench.install("greeting", GOOD)
    assert await report(bench) == [{"name": "greeting", "version": "1.0", "on": False, "tools": 0, "problems": []}]
    assert bench.toolbox.find("greet") is None


@proves("TOOL-2")
async def test_one_that_is_switched_on_is_used_until_it_is_switched_off(bench: PluginBench) -> None:
    bench.install("greeting", GOOD)
    plugins, before = bench.plugins(), bench.toolbox.specs()
    await plugins.enable(["Greeting"])
    assert plugins.report() == [{"name": "greeting", "version": "1.0", "on": True, "tools": 1, "problems": []}]
    assert (await bench.call("greet", name="you")).content == "Hello, you"
    assert bench.toolbox.specs() is bench.toolbox.specs() and "greet" in [spec.name for spec in bench.toolbox.specs()]
    await plugins.enable([])
    assert bench.toolbox.find("greet") is None and bench.toolbox.specs() == before


async def test_one_that_is_not_installed_is_named(bench: PluginBench) -> None:
    [one] = await report(bench, "missing")
    assert (one["on"], one["version"], one["problems"]) == (True, None, ["it is not installed"])


@proves("TOOL-5")
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("tools = [print]", "is not a tool; decorate the function"),
        ("tools = 3", "is not a tool"),
        ("pass", "has no attribute 'tools'"),
        ("import os; os._exit(0)", "did not say what tools it has"),
        ("import os; os.write(1, b'{}'); os._exit(0)", "did not say what tools it has"),
        ("import os; os.kill(os.getpid(), 9)", "did not say what tools it has"),
        ("@tool\ndef f(x) -> str:\n    'x'\ntools = f", "'x' has no annotation"),
        ("@tool(schema={'type': object()})\ndef f() -> str:\n    'x'\ntools = f", "not JSON serializable"),
        ("@tool\ndef grep() -> str:\n    'x'\ntools = f = grep", "'grep': a tool of AnyCowork's own has this name"),
        ("@tool(name='network')\ndef f() -> str:\n    'x'\ntools = f", "a tool of AnyCowork's own has this name"),
        ("@tool\ndef f() -> str: ...\ntools = f", "its 'name' does not fit"),
        ("@tool\ndef fine() -> str: ...\ntools = fine", "its 'description' does not fit"),
        ("@tool\ndef fine() -> str:\n    'x'\ntools = [fine] * 60", "did not say what tools it has"),
    ],
)
async def test_a_bad_plugin_is_told_and_the_others_are_used(bench: PluginBench, code: str, says: str) -> None:
    bench.install("bad", code)
    bench.install("greeting", GOOD)
    bad, good = await report(bench, "bad", "greeting")
    assert bad["tools"] == 0 and says in str(bad["problems"])
    assert good["tools"] == 1 and (await bench.call("greet", name="you")).content == "Hello, you"


async def test_one_bad_entry_point_does_not_take_the_others_with_it(bench: PluginBench) -> None:
    bench.install("mixed", GOOD, entries={"good": "mixed:greet", "bad": "mixed:missing"})
    [one] = await report(bench, "mixed")
    assert one["tools"] == 1 and "has no attribute 'missing'" in str(one["problems"])


async def test_two_plugins_with_one_name_are_both_refused(bench: PluginBench) -> None:
    bench.install("one", GOOD)
    bench.install("two", GOOD)
    found = await report(bench, "one", "two")
    assert [one["tools"] for one in found] == [0, 0] and "two has a tool of this name too" in str(found[0]["problems"])
    assert bench.toolbox.find("greet") is None


@proves("TOOL-5")
async def test_without_a_sandbox_no_foreign_code_runs_and_the_way_out_is_told(bench: PluginBench) -> None:
    bench.install("greeting", GOOD)
    [one] = await report(bench, "greeting", sandboxed=False)
    assert one["tools"] == 0 and "no sandbox for foreign code" in str(one["problems"])
    assert "anycowork doctor" in str(one["problems"]) and bench.toolbox.find("greet") is None


async def test_code_that_lies_around_the_servers_secrets_is_not_shown_to_anybody(bench: PluginBench) -> None:
    bench.data.mkdir()
    bench.install("greeting", GOOD)
    plugins = bench.plugins()
    plugins._folder = bench.data  # as if somebody had installed it into the data folder itself
    for each in bench.folder.iterdir():
        each.rename(bench.data / each.name)
    await plugins.enable(["greeting"])
    [one] = plugins.report()
    assert one["tools"] == 0 and "holds the server's own files" in str(one["problems"])
