"""More version managers and package managers, as stand-ins in their real folder shapes: their tools run, and nothing beside them is read.

Each program finds what it needs as the real one does: by its own path, by a link's name, by its manager's variable.
"""

from pathlib import Path

import pytest

from anycowork.sandbox.bubblewrap import TOOL_VERSIONS
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.toolchains import Toolchains, find_toolchains, tool_versions, toolchain_of
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the person"
BESIDE = (
    ".condarc", ".conda/environments.txt", "miniconda3/.condarc", ".config/mise/config.local.toml", ".local/share/mise/.env",
    ".local/share/mise/http-tarballs/.netrc", ".asdf/.npmrc", ".asdfrc", ".linuxbrew/etc/.netrc", ".linuxbrew/var/.aws/credentials",
    "go/src/private/main.go", ".config/go/env", ".deno/.npmrc", ".bunfig.toml", ".bun/.npmrc", ".volta/.npmrc", ".volta/tools/user/.env",
    ".npmrc", ".netrc", ".local/state/notes", "sdk/notes.txt",
)  # fmt: skip


class Person:
    """A home folder with tools. `entries` is its PATH."""

    def __init__(self, home: Path, bench: ToolWorkspace) -> None:
        self.home, self.bench = home, bench
        self.entries: list[str] = []

    def script(self, place: str, text: str) -> Path:
        file = self.home / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def says(self, place: str, words: str) -> Path:
        return self.script(place, f"echo {words}")

    def link(self, place: str, target: str) -> None:
        link = self.home / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def find(self) -> Toolchains:
        found = find_toolchains(
            ":".join([*(str(self.home / one) for one in self.entries), "/usr/bin", "/bin"]),
            home=self.home,
            data_dir=self.home / ".local/share/anycowork",
            always_visible=self.bench.sandbox.toolchains.folders,
        )
        self.bench.sandbox.toolchains = found
        data = self.bench.root.parent / "data"
        versions = tool_versions(self.home, {})
        self.bench.sandbox.staging = Staging(data / "staging2", data / "shared2", own_etc={TOOL_VERSIONS: versions})
        return found

    async def run(self, command: str) -> str:
        return (await self.bench.call("execute_command", command=command)).content


@pytest.fixture
def person(bench: ToolWorkspace, tmp_path: Path) -> Person:
    made = Person(tmp_path / "person", bench)
    for shape in (_conda, _mise, _asdf, _homebrew, _go, _deno, _bun, _volta):
        shape(made)
    for place in BESIDE:
        (made.home / place).parent.mkdir(parents=True, exist_ok=True)
        (made.home / place).write_text(SECRET)
    made.find()
    return made


def _conda(person: Person) -> None:
    """The base with its own Python, which its programs name in their first line; and an activated environment."""
    python = person.says("miniconda3/bin/python3.12", "run by conda-base $(basename $1)")
    conda = person.script("miniconda3/bin/conda-tool", "")
    conda.write_text(f"#!{python}\n")
    person.link("miniconda3/condabin/conda", "../bin/conda-tool")
    (person.home / "miniconda3/conda-meta").mkdir()
    person.says("miniconda3/envs/science/bin/env-tool", "conda-env")
    (person.home / "miniconda3/envs/science/conda-meta").mkdir()
    person.entries += ["miniconda3/envs/science/bin", "miniconda3/condabin"]


def _mise(person: Person) -> None:
    """Every shim is a link to the one program, which reads the person's versions and runs what is installed."""
    person.script(
        ".local/bin/mise",
        'name=$(basename "$0"); version=$(sed -n "s/^$name //p" "$MISE_GLOBAL_CONFIG_FILE"); '
        'exec "$MISE_DATA_DIR/installs/$name/$version/bin/$name"',
    )
    person.link(".local/share/mise/shims/mise-node", "../../../bin/mise")
    person.says(".local/share/mise/installs/mise-node/22.1.0/bin/mise-node", "mise-node")
    person.link(".local/share/mise/installs/mise-node/22", "./22.1.0")
    config = person.home / ".config/mise/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[env]\nAPI_KEY = "{SECRET}"\n[tools]\nmise-node = "22"\n"odd \\" name" = "1"\npipx = {{ version = "1" }}\n'
    )
    person.entries += [".local/share/mise/shims", ".local/bin"]


def _asdf(person: Person) -> None:
    """A shim is a script that asks asdf, which finds the version in a file of the home folder."""
    person.script(
        ".asdf/bin/asdf",
        'version=$(sed -n "s/^$2 //p" "$HOME/.tool-versions"); exec "$ASDF_DATA_DIR/installs/$2/$version/bin/$2"',
    )
    person.script(".asdf/shims/asdf-ruby", f'exec "{person.home}/.asdf/bin/asdf" exec asdf-ruby')
    person.says(".asdf/installs/asdf-ruby/3.3.0/bin/asdf-ruby", "asdf-ruby")
    (person.home / ".tool-versions").write_text("asdf-ruby 3.3.0\n")
    person.entries += [".asdf/shims"]


def _homebrew(person: Person) -> None:
    """Programs are links into the Cellar; libraries lie below opt, as links too."""
    person.script(
        ".linuxbrew/Cellar/jq/1.7/bin/brew-jq",
        'cat "$(dirname "$(readlink -f "$0")")/../../../../opt/oniguruma/lib/lib"',
    )
    person.link(".linuxbrew/bin/brew-jq", "../Cellar/jq/1.7/bin/brew-jq")
    (person.home / ".linuxbrew/Cellar/oniguruma/6/lib").mkdir(parents=True)
    (person.home / ".linuxbrew/Cellar/oniguruma/6/lib/lib").write_text("brew-jq\n")
    person.link(".linuxbrew/opt/oniguruma", "../Cellar/oniguruma/6")
    person.entries += [".linuxbrew/bin"]


def _go(person: Person) -> None:
    """A toolchain finds its own root; what `go install` made lies beside sources, which stay unseen."""
    person.script("sdk/go1.24/bin/go-cli", 'cat "$(dirname "$0")/../pkg/tool/words"')
    (person.home / "sdk/go1.24/pkg/tool").mkdir(parents=True)
    (person.home / "sdk/go1.24/pkg/tool/words").write_text("go-cli\n")
    person.says("go/bin/gopls", "gopls")
    person.entries += ["sdk/go1.24/bin", "go/bin"]


def _deno(person: Person) -> None:
    person.says(".deno/bin/deno-cli", "deno-cli")
    person.entries += [".deno/bin"]


def _bun(person: Person) -> None:
    """A globally installed program is a link into bun's own node_modules."""
    person.says(".bun/bin/bun-cli", "bun-cli")
    person.script(".bun/install/global/node_modules/kit/cli.js", "echo bun-global")
    person.link(".bun/bin/bun-kit", "../install/global/node_modules/kit/cli.js")
    person.entries += [".bun/bin"]


def _volta(person: Person) -> None:
    """Every program is a link to the one shim, which looks into VOLTA_HOME."""
    person.script(".volta/bin/volta-shim", 'exec "$VOLTA_HOME"/tools/image/node/*/bin/"$(basename "$0")"')
    person.link(".volta/bin/volta-node", "volta-shim")
    person.says(".volta/tools/image/node/22.1.0/bin/volta-node", "volta-node")
    person.entries += [".volta/bin"]


@proves("TOOL-4", "SEC-2")
async def test_tools_of_more_managers_run_and_no_secret_beside_them_is_read(person: Person) -> None:
    tools = (
        "env-tool", "conda", "mise-node", "asdf-ruby", "brew-jq", "go-cli", "gopls", "deno-cli", "bun-cli", "bun-kit", "volta-node",
    )  # fmt: skip
    said = await person.run("; ".join(f"echo {tool}=$({tool})" for tool in tools))
    wanted = (
        "conda-env", "run by conda-base conda", "mise-node", "asdf-ruby", "brew-jq", "go-cli", "gopls", "deno-cli", "bun-cli",
        "bun-global", "volta-node",
    )  # fmt: skip
    assert [f"{tool}={words}" for tool, words in zip(tools, wanted, strict=True)] == said.splitlines()[: len(tools)], (
        said
    )
    listed = "; ".join(f"cat '{person.home / place}'" for place in BESIDE)
    said = await person.run(
        f"{{ {listed}; }} 2>&1; grep -r '{SECRET[:10]}' {person.home} ~ /etc; env; ls -A {person.home}/go"
    )
    assert SECRET not in said and "src" not in said.split()


@proves("TOOL-4")
async def test_no_tool_of_these_managers_can_be_changed(person: Person) -> None:
    before = tree(person.home)
    folders = " ".join(str(person.home / one) for one in person.entries)
    await person.run(
        f"for at in {folders}; do echo evil > $at/planted; rm -rf $at/*; chmod 777 $at; done; rm -rf ~/.tool-versions"
    )
    assert tree(person.home) == before


def test_the_folder_of_homebrew_for_all_users_is_one_toolchain() -> None:
    prefix = Path("/home/linuxbrew/.linuxbrew")
    for programs in ("bin", "sbin", "Cellar/jq/1.7/bin", "opt/openjdk/bin"):
        assert toolchain_of(prefix / programs, Path("/home/ada")) == prefix
    assert toolchain_of(Path("/home/linuxbrew/.linuxbrew-other/bin"), Path("/home/ada")) is None


def test_of_the_defaults_only_names_and_versions_are_taken(tmp_path: Path) -> None:
    (tmp_path / ".config/mise").mkdir(parents=True)
    (tmp_path / ".tool-versions").write_text(
        f"# {SECRET}\nruby 3.3.0 system # {SECRET}\nodd ref:main path:/home/ada/private\n{'x' * 101} 1\nnone\n"
    )
    config = tmp_path / ".config/mise/config.toml"
    config.write_text(
        f'[env]\nKEY = "{SECRET}"\n[tools]\nruby = "1"\nnode = ["22", {{ version = "20" }}, 7]\n"npm:kit" = {{ version = "2.1" }}\n'
        f'"a b" = "1"\nkey = "{SECRET}"\nnested = [[1], {{}}]\n[settings]\nx = "{SECRET}"\n'
    )
    assert set(tool_versions(tmp_path, {}).splitlines()) == {"ruby 3.3.0 system", "node 22 20", "npm:kit 2.1"}
    for broken in ("[tools", "tools = 1", "x = " + "[" * 5000):
        config.write_text(broken)
        assert tool_versions(tmp_path, {}) == "ruby 3.3.0 system\n"
    assert tool_versions(tmp_path / "nobody", {"MISE_CONFIG_DIR": str(tmp_path / "nobody")}) == ""
