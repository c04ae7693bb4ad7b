"""`anycowork doctor`: checks machine, data folder and providers, and says how to fix each problem."""

import asyncio
import json
import os
from dataclasses import asdict
from pathlib import Path

from anycowork import __version__
from anycowork.cli.diagnostics import Diagnosis, run_checks
from anycowork.cli.options import Invocation
from anycowork.client.console import Console, stderr, stdout
from anycowork.config.settings import Settings, default_data_dir
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.messages import Json
from anycowork.sandbox.network.egress import Egress
from anycowork.server.setup.sandbox_setup import DiskBudgets, SandboxSetup, try_sandbox
from anycowork.tools.plugins.manager import PluginManager
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.toolbox import built_in_tools


def doctor(invocation: Invocation, *, as_json: bool) -> int:
    """Prints the report; returns 0 if everything needed is there, 1 if something needed is missing."""
    flags, environ, cwd = invocation
    try:
        settings = invocation.settings()
    except AnyCoworkError as error:
        try:
            data_dir = flags.get("data_dir") or environ.get("ANYCOWORK_DATA_DIR") or default_data_dir()
            settings = Settings(data_dir=cwd / str(data_dir))
            _require_readable(settings.data_dir)
        except AnyCoworkError as fault:  # without a data folder there is nothing to check
            stderr().line(f"anycowork doctor: {fault.message}")
            return 1
        findings = [
            Diagnosis("settings", ok=False, needed=True, detail=error.message, way_out="Fix the setting named above.")
        ]
    else:
        findings = [Diagnosis("settings", ok=True, needed=True, detail="readable")]
    findings += run_checks(settings, environ)
    with try_sandbox(settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths) as sandbox_setup:
        # The findings stay true after the trial's folders are gone.
        findings.append(asyncio.run(check_plugins(settings, sandbox_setup)))
    healthy = all(finding.ok for finding in findings if finding.needed)
    out = stdout()
    if as_json:
        out.line(
            json.dumps(
                {**_report(findings, sandbox_setup, healthy=healthy), "data_dir": str(settings.data_dir)}, indent=2
            )
        )
    else:
        _print_report(out, findings, sandbox_setup, healthy=healthy)
    return 0 if healthy else 1


def _require_readable(data_dir: Path) -> None:
    try:
        os.scandir(data_dir).close()
    except PermissionError as error:
        raise StorageFault(f"You cannot read {data_dir}. Change its owner, or choose another --data-dir.") from error
    except OSError:
        return  # missing, or a file: the checks report it


def _report(findings: list[Diagnosis], sandbox_setup: SandboxSetup, *, healthy: bool) -> dict[str, object]:
    return {
        "ok": healthy,
        "version": __version__,
        "sandbox": {**sandbox_setup.as_json(), "note": sandbox_setup.summary},
        "checks": [asdict(finding) for finding in findings],
    }


def _print_report(out: Console, findings: list[Diagnosis], sandbox_setup: SandboxSetup, *, healthy: bool) -> None:
    out.line(out.paint(f"AnyCowork {__version__}", "bold"))
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        out.line(f"{_sign(out, finding)} {finding.name:<{width}}  {finding.detail}")
        if not finding.ok and finding.way_out:
            out.line(f"  {'':<{width}}  → {finding.way_out}")
    out.line()
    out.line(f"Sandbox {sandbox_setup.summary}.")
    _print_visible(out, sandbox_setup)
    out.line("It does not promise:")
    for lack in sandbox_setup.does_not:
        out.line(f"  · {lack}")
    out.line("Everything needed is there." if healthy else "Something needed is missing: see the lines marked ✗.")


def _print_visible(out: Console, sandbox_setup: SandboxSetup) -> None:
    """The system's folders are not listed."""
    if sandbox_setup.sandbox is None:
        return
    tools = sandbox_setup.toolchains
    out.line("Commands also see, read-only (from PATH and the setting sandbox_paths):")
    for folder in tools.folders or ("nothing",):
        out.line(f"  · {folder}")
    packages = sandbox_setup.packages
    if packages.found:
        out.line("Commands use these package caches; what they write there never reaches them:")
        for cache in packages.found:
            out.line(f"  · {cache.folder}")
    for path in (*tools.hidden, *packages.hidden):
        out.line(f"  · without {path}, which may hold credentials")
    for refused in (*tools.refused, *packages.refused):
        out.line(f"  · not {refused.path}: {refused.why}")
    if os.geteuid() == 0:
        out.line("  As root, commands run as the workspace's owner and see only what that user may read.")


def _sign(out: Console, finding: Diagnosis) -> str:
    if finding.ok:
        return out.paint("✓", "green")
    return out.paint("✗", "red") if finding.needed else out.paint("·", "yellow")


_WAY_OUT = "docs/tools.md says what a plugin must look like; without its name in the setting 'plugins' it is not used."


async def check_plugins(settings: Settings, sandbox_setup: SandboxSetup) -> Diagnosis:
    """Asks enabled plugins for their tools, in the sandbox, as the server does."""
    sandbox = sandbox_setup.sandbox
    housing = PluginRuntime(sandbox, Egress(), settings.data_dir) if sandbox else None
    toolbox = built_in_tools(None, lambda: settings.command_timeout, sandbox)
    plugins = PluginManager(settings.plugins_folder, toolbox, housing, timeout=lambda: settings.command_timeout)
    await plugins.enable(settings.plugins)
    reports = plugins.report()
    failing = [report for report in reports if report["problems"]]
    return Diagnosis("plugins", not failing, False, "; ".join(map(_plugin_line, reports)) or "none installed", _WAY_OUT)


def _plugin_line(report: Json) -> str:
    problems = report["problems"]
    assert isinstance(problems, list)
    version = f" {report['version']}" if report["version"] else ""
    if problems:
        return f"{report['name']}{version} fails: {'. '.join(map(str, problems))}"
    return (
        f"{report['name']}{version} ({report['tools']} tools)"
        if report["on"]
        else f"{report['name']}{version} (not switched on)"
    )
