"""`anycowork role` as people type it: real processes, a real server."""

import json

from support.cli_process import CommandLine, ServeProcess
from support.spec import proves

TRANSLATOR = 'name = "translator"\npermissions = ["read_files"]\nprompt = "Translate."\ntooltip = "Translates texts."\n'


@proves("ROL-6")
def test_roles_are_listed_shown_and_their_files_checked(shared: tuple[CommandLine, ServeProcess]) -> None:
    cli, _ = shared
    listed = cli.type("role", "list")
    assert listed.returncode == 0 and "planner        read_files\n" in listed.stdout
    shown = cli.type("role", "show", "planner")
    assert shown.returncode == 0 and shown.stdout.startswith("planner: ") and "comes from  AnyCowork" in shown.stdout
    assert json.loads(cli.type("role", "show", "planner", "--json").stdout)["built_in"] is True
    unknown = cli.type("role", "show", "plannerr")
    assert (unknown.returncode, unknown.stdout) == (2, "") and "planner" in unknown.stderr

    (cli.workspace / "translator.toml").write_text(TRANSLATOR)
    (cli.workspace / "actor.toml").write_text(TRANSLATOR.replace("translator", "actor"))
    (cli.workspace / "broken.toml").write_text(TRANSLATOR.replace("read_files", "fly"))
    done = cli.type("role", "check", "translator.toml", "actor.toml", "broken.toml", "none.toml")
    assert done.returncode == 1 and done.stdout == f"{cli.workspace / 'translator.toml'}: ok\n"
    faults = done.stderr.splitlines()
    assert len(faults) == 3 and "built-in role" in faults[0] and "permissions" in faults[1] and "none.toml" in faults[2]
    assert cli.type("role", "check").returncode == 0
