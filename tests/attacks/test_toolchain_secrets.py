"""Attempts to read credentials and private data that lie inside a toolchain: deep, late, in files that tools keep beside their programs."""

from pathlib import Path

import pytest

from anycowork.sandbox.secrets.secret_paths import scan_folder
from attacks.test_toolchains import SECRET, Home
from support.live_server import live_server
from support.raw_mcp_server import raw_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace

NODE = ".nvm/versions/node/v22.1.0"
KEY = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n"
# What programs and people leave inside the folders of toolchains: the place, the content, and whether the file can be run.
LEFT: tuple[tuple[str, str, bool], ...] = (
    (f"{NODE}/lib/node_modules/local-ca/certs/private/server.pem", KEY, False),
    (f"{NODE}/lib/node_modules/local-ca/certs/server.key", KEY, True),
    (f"{NODE}/etc/npmrc", f"//registry.example.com/:_auth={SECRET}\n", False),
    (f"{NODE}/lib/node_modules/npm/npmrc", f"//registry.example.com/:_password={SECRET}\n", False),
    (".nvm/.git/config", f"[remote]\n\turl = https://me:{SECRET.replace(' ', '-')}@example.com/nvm.git\n", False),
    (".asdf/plugins/own/.git/config", f"[remote]\n\turl = https://{SECRET.replace(' ', '-')}@example.com/p.git\n", False),
    (".asdf/installs/postgres/16.1/data/base/1/2619", SECRET, False),
    (".asdf/installs/postgres/16.1/data/PG_VERSION", "16\n", False),
    ("venvs/tool/pip.conf", f"[global]\nindex-url = https://me:{SECRET.replace(' ', '-')}@packages.example.com/simple\n", False),
    ("venvs/tool/.python_history", SECRET, False),
    ("venvs/tool/lib/python3.12/site-packages/cacert.pem", "-----BEGIN CERTIFICATE-----\npublic words\n", False),
    ("venvs/tool/share/jupyter/kernel.json", '{"argv": ["python"], "about": "public words"}\n', False),
)  # fmt: skip
PUBLIC = 2
ENTRIES = [f"{NODE}/bin", ".asdf/shims", "venvs/tool/bin"]


@pytest.fixture
def home(bench: ToolWorkspace, tmp_path: Path) -> Home:
    made = Home(tmp_path / "person", bench)
    made.program(f"{NODE}/bin/node", "node from nvm")
    made.program(".asdf/shims/psql", "psql from asdf")
    made.program("venvs/tool/bin/tool", "tool from a venv")
    (made.folder / "venvs/tool/pyvenv.cfg").write_text("home = x\n")
    for place, text, runs in LEFT:
        (made.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / place).write_text(text)
        (made.folder / place).chmod(0o755 if runs else 0o644)
    return made


@proves("TOOL-4", "SEC-2")
async def test_no_credential_deep_inside_a_toolchain_can_be_read_and_what_is_public_can(home: Home) -> None:
    home.find(*ENTRIES)
    either = f"{SECRET[:10]}|{SECRET[:10].replace(' ', '-')}"
    said = await home.run(
        f"grep -rEl '{either}' {home.folder} 2>/dev/null; node; psql; tool; grep -rho 'public words' {home.folder} 2>/dev/null"
    )
    leaked = [place for place, _, _ in LEFT if place in said]
    assert leaked == [], said
    assert all(words in said for words in ("node from nvm", "psql from asdf", "tool from a venv")), said
    assert said.count("public words") == PUBLIC, said


@proves("TOOL-4", "SEC-2")
async def test_a_credential_that_came_after_the_start_is_covered_too(home: Home) -> None:
    home.find(*ENTRIES)
    assert "node from nvm" in await home.run("node")
    for place in (f"{NODE}/.npmrc", f"{NODE}/etc/extra.npmrc", "venvs/tool/.netrc"):
        (home.folder / place).write_text(f"//registry.example.com/:_authToken={SECRET}\n")
    said = await home.run(f"grep -r '{SECRET[:10]}' {home.folder} 2>/dev/null; node")
    assert SECRET not in said and "node from nvm" in said


@proves("SEC-2")
def test_what_only_looks_like_a_credential_is_left_and_databases_are_not(tmp_path: Path) -> None:
    kept = {
        ".git/config": "[remote]\n\turl = https://git@example.com/brew.git\n",
        "etc/pip.conf": "[global]\nproxy = http://proxy.example.com:3128\n",
        "etc/npmrc": "prefix=${HOME}\n",
        "maven/conf/settings.xml": "<settings><!-- <password>example</password> --></settings>",
        "lib/python3.12/test/certdata/keycert.pem": KEY,
        "lib/python3.12/var/other.txt": "x",
    }
    hidden = {
        "Cellar/maven/3.9/conf/settings.xml": "<settings><!-- x --><password>secret</password></settings>",
        "etc/my.jks": "x",
        "lib/python3.12/site-packages/test/own.pem": KEY,
    }
    for place, text in {**kept, **hidden, "var/postgresql@16/PG_VERSION": "16"}.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    found = {str(Path(path).relative_to(tmp_path)) for path in scan_folder(tmp_path).found}
    assert found == {*hidden, "var"}


# --- programs of MCP servers and of other vendors' agents, which see the folders that they are installed in

HOME_SECRETS = (
    ".local/share/keyrings/login.keyring", ".local/share/app/session", ".cargo/credentials.toml", ".cargo/config.toml",
    "tools/kit/etc/npmrc", "tools/kit/.netrc", "tools/kit/lib/deep/er/signing.key",
)  # fmt: skip


@proves("MCP-2", "SEC-2")
async def test_the_program_of_an_mcp_server_reads_no_credential_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    for name in HOME_SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"_auth={KEY}")
    monkeypatch.setenv("HOME", str(home))
    places = {"local": ".local/bin", "cargo": ".cargo/bin", "kit": "tools/kit/bin"}
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        for server, place in places.items():
            (home / place).mkdir(parents=True, exist_ok=True)
            (home / place / "beside").write_text("needed words")
            await client.ask("POST", "/mcp/servers", raw_server(home / place, name=server), expect=201)
            shown = await client.ask("POST", f"/mcp/servers/{server}/connect", {})
            assert shown["status"] == "ready", shown.get("error")
            paths = [str(home / name) for name in (*HOME_SECRETS, f"{place}/beside")]
            code = (
                f"for path in {paths!r}:\n  try:\n    tell(path, Path(path).read_text())\n  except OSError:\n    pass"
            )
            client.model.replies += [call(f"{server}__attempt", code=code), "Done."]
            await chat.send("Go.")
            await chat.decide()
            told = str((await chat.of_type("tool_result"))[-1]["content"])
            assert SECRET not in told and "needed words" in told, told
