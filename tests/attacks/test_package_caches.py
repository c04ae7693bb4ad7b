"""Attempts to change the person's package caches from a command, or to read credentials by way of them; and that commands use them.

The home folder is the test's own, with caches in the shapes that package managers make.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

import pytest

from anycowork.domain.roles import Permission
from anycowork.sandbox.layers.stage import Layer, Stage
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.package_caches import PackageCache, PackageCaches, find_package_caches, mount_packages
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the person"
TESTER = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})
# In the home folder: a cached package, and how a command gets to it.
PACKAGES = {
    ".npm/_cacache/content-v2/one": "~/.npm/_cacache/content-v2/one",
    ".cache/pip/http-v2/one": "$PIP_CACHE_DIR/http-v2/one",
    ".cache/uv/wheels-v5/one": "$UV_CACHE_DIR/wheels-v5/one",
    ".cache/yarn/v6/one": "$YARN_CACHE_FOLDER/v6/one",
    ".yarn/berry/cache/one.zip": "~/.yarn/berry/cache/one.zip",
    ".local/share/pnpm/store/v10/one": "~/.local/share/pnpm/store/v10/one",
    ".bun/install/cache/one": "$BUN_INSTALL_CACHE_DIR/one",
    ".cache/deno/npm/one": "$DENO_DIR/npm/one",
    ".cargo/registry/cache/index.crates.io-1/one.crate": "~/.cargo/registry/cache/index.crates.io-1/one.crate",
    "go/pkg/mod/cache/download/one": "~/go/pkg/mod/cache/download/one",
    ".m2/repository/org/one.jar": "~/.m2/repository/org/one.jar",
    ".gradle/caches/modules-2/files-2.1/one.jar": "~/.gradle/caches/modules-2/files-2.1/one.jar",
    ".gradle/wrapper/dists/gradle-9/one": "~/.gradle/wrapper/dists/gradle-9/one",
    ".nuget/packages/one/1.0/one.dll": "~/.nuget/packages/one/1.0/one.dll",
}
BESIDE = (
    ".npmrc", ".npm/_logs/debug.log", ".config/pip/pip.conf", ".pip/pip.conf", ".pypirc", ".yarnrc.yml", ".cargo/credentials.toml",
    ".cargo/config.toml", ".cargo/git/db/x/FETCH_HEAD", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config", ".config/go/env", ".netrc", ".ssh/id_ed25519", ".bunfig.toml",
)  # fmt: skip
INSIDE = (
    ".cache/uv/git-v0/db/x/FETCH_HEAD", "go/pkg/mod/cache/vcs/x/config", ".cache/deno/location_data/x", ".m2/repository/.netrc",
    ".npm/_cacache/id_rsa", ".cargo/registry/index/.aws/credentials", ".cache/pip/settings.ini",
)  # fmt: skip


@dataclass
class Caches:
    home: Path
    bench: ToolWorkspace

    def put(self, place: str, text: str) -> Path:
        file = self.home / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def find(self, environ: Mapping[str, str] | None = None) -> PackageCaches:
        found = find_package_caches(environ or {}, home=self.home, data_dir=self.home / ".local/share/anycowork")
        self.bench.sandbox.packages = found
        return found

    async def run(self, command: str, *, permissions: frozenset[Permission] | None = None) -> str:
        context = self.bench.tool_context(permissions=permissions) if permissions else None
        return (await self.bench.call("execute_command", context, command=command)).content


@pytest.fixture
def caches(bench: ToolWorkspace, tmp_path: Path) -> Caches:
    made = Caches(tmp_path / "person", bench)
    for place in PACKAGES:
        made.put(place, f"package of {place}\n")
    return made


@proves("TOOL-4")
async def test_commands_find_the_packages_that_the_person_has(caches: Caches) -> None:
    assert len(caches.find().found) == len(PACKAGES)
    said = await caches.run("; ".join(f"cat {inside}" for inside in PACKAGES.values()))
    assert [f"package of {place}" for place in PACKAGES] == said.splitlines()[: len(PACKAGES)], said


@proves("TOOL-4")
async def test_nothing_that_a_command_writes_reaches_a_real_cache(caches: Caches) -> None:
    """What it writes stays for later commands of the same workspace; one that may change nothing leaves nothing behind."""
    caches.find()
    before, modes = tree(caches.home), {path: path.lstat() for path in caches.home.rglob("*")}
    npm = "~/.npm/_cacache/content-v2"
    await caches.run(
        f"echo evil > {npm}/one; echo new > {npm}/new; rm -rf ~/.m2/repository/org; mv $PIP_CACHE_DIR/http-v2/one $PIP_CACHE_DIR/two; "
        "chmod -R 777 ~/go/pkg/mod; touch -d 2001-01-01 ~/.cargo/registry/cache/*/*; ln ~/.nuget/packages/one/1.0/one.dll linked; "
        "truncate -s 0 $UV_CACHE_DIR/wheels-v5/one"
    )
    seen = f"cat {npm}/one {npm}/new; ls -A ~/.m2/repository; cat $PIP_CACHE_DIR/two"
    expected = ["evil", "new", "package of .cache/pip/http-v2/one"]
    assert (await caches.run(seen)).splitlines()[:3] == expected
    assert (await caches.run(f"{seen}; echo gone > {npm}/new", permissions=TESTER)).splitlines()[:3] == expected
    assert (await caches.run(seen)).splitlines()[:3] == expected
    assert tree(caches.home) == before
    assert all(path.lstat()[:9] == found[:9] for path, found in modes.items())  # modes, owners, links, times of writing


@proves("TOOL-4")
async def test_another_workspace_sees_nothing_of_what_a_command_cached(caches: Caches, tmp_path: Path) -> None:
    caches.find()
    await caches.run("echo planted > ~/.npm/_cacache/planted; echo evil > ~/.npm/_cacache/content-v2/one")
    (tmp_path / "second/workspace").mkdir(parents=True)
    other = ToolWorkspace(tmp_path / "second/workspace", tmp_path)
    other.sandbox.staging, other.sandbox.packages = caches.bench.sandbox.staging, caches.bench.sandbox.packages
    result = await other.call("execute_command", command="ls ~/.npm/_cacache; cat ~/.npm/_cacache/content-v2/one")
    assert "planted" not in result.content and "evil" not in result.content and "package of .npm" in result.content


@proves("TOOL-4", "SEC-2")
async def test_no_credential_beside_or_inside_a_cache_can_be_read(caches: Caches) -> None:
    for place in (*BESIDE, *INSIDE):
        caches.put(place, f"aws_secret_access_key = {SECRET}\n")
    found = caches.find()
    listed = "; ".join(f"cat '{caches.home / place}' '/home/sandbox/{place}'" for place in (*BESIDE, *INSIDE))
    vcs = "~/go/pkg/mod/cache/vcs"
    said = await caches.run(
        f"{{ {listed}; }} 2>&1; grep -r '{SECRET[:10]}' ~ {caches.home}; mv {vcs} ~/x; mv ~/go/pkg/mod/cache ~/y; chmod -R 777 {vcs}; "
        f"grep -r '{SECRET[:10]}' ~; cat {PACKAGES['go/pkg/mod/cache/download/one']} ~/y/download/one; ls ~/.npm ~/.m2 ~/.cargo"
    )
    assert SECRET not in said and "package of go" in said
    assert not {"_logs", "settings.xml", "credentials.toml", "git"} & set(said.split())
    assert sum(len(cache.hidden) for cache in found.found) == len(INSIDE) + 1  # deno's history, which there is not
    again = await caches.run(f"grep -r '{SECRET[:10]}' ~; cat {vcs}/x/config")
    assert SECRET not in again


@proves("TOOL-4", "SEC-2")
async def test_links_in_a_cache_lead_nowhere(caches: Caches) -> None:
    """Neither those that the person has there, nor those that a command puts where the next one's mounts go."""
    key = caches.put(".ssh/id_ed25519", SECRET)
    (caches.home / ".npm/_cacache/key").symlink_to(key)
    (caches.home / ".npm/_cacache/home").symlink_to(caches.home)
    caches.find()
    said = await caches.run(
        "cat ~/.npm/_cacache/key ~/.npm/_cacache/home/.ssh/id_ed25519; rm -rf ~/go/pkg/mod/cache; "
        f"ln -s /oldroot{caches.bench.outside} ~/go/pkg/mod/cache; rm -rf ~/.cache/pip; ln -s /oldroot{caches.bench.outside} ~/.cache/pip"
    )
    assert SECRET not in said
    caches.put("go/pkg/mod/cache/vcs/x/config", SECRET)  # now a cover goes below the link
    caches.find()
    again = await caches.run("cat ~/go/pkg/mod/cache/download/one ~/go/pkg/mod/cache/vcs/x/config; ls $PIP_CACHE_DIR")
    assert "package of go" in again and "http-v2" in again and SECRET not in again
    assert list(caches.bench.outside.iterdir()) == []


@proves("TOOL-4", "SEC-2")
async def test_a_cache_that_is_a_link_or_holds_too_much_is_not_brought_in(caches: Caches, tmp_path: Path) -> None:
    for place in (".ssh/id_ed25519", "documents/diary.txt", "elsewhere/repository/one.jar"):
        caches.put(place, SECRET)
    for link, target in ((".cache/pip", ".ssh"), (".npm/_cacache", "documents"), (".cargo/registry", ".")):
        (caches.home / link).rename(tmp_path / Path(link).name)
        (caches.home / link).symlink_to(caches.home / target)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    found = caches.find({
        "UV_CACHE_DIR": str(caches.home / ".ssh"), "YARN_CACHE_FOLDER": str(caches.home), "DENO_DIR": "/etc", "GOMODCACHE": "/",
        "BUN_INSTALL_CACHE_DIR": str(open_to_all), "NUGET_PACKAGES": str(caches.home / ".local/share"),
        "GRADLE_USER_HOME": "relative",
    })  # fmt: skip
    assert {cache.name for cache in found.found} == {"yarn-berry", "pnpm", "maven", "gradle", "gradle-wrapper"}
    assert len(found.refused) == len(PACKAGES) - len(found.found)
    assert SECRET not in await caches.run("grep -r . ~; env")


@proves("TOOL-4")
def test_a_folder_of_caches_on_another_disk_is_used(caches: Caches, tmp_path: Path) -> None:
    (caches.home / ".cache").rename(tmp_path / "disk")
    (caches.home / ".cache").symlink_to(tmp_path / "disk")
    assert str(tmp_path / "disk/pip") in {cache.folder for cache in caches.find().found}
    found = caches.find({"XDG_CACHE_HOME": str(tmp_path / "disk"), "CARGO_HOME": str(caches.home / ".cargo")})
    assert len(found.found) == len(PACKAGES)


@proves("TOOL-4")
def test_a_cache_that_cannot_be_mounted_safely_is_left_out(caches: Caches, tmp_path: Path) -> None:
    """Then the command runs without it: paths too long, in the workspace, of another user, gone since the start; and on a copy."""
    npm, pip, uv, yarn, *_ = found = caches.find().found
    root = str(caches.bench.root)
    stage = caches.bench.sandbox.staging.open(runner_for(root))

    def mounted(stage: Stage, *wanted: PackageCache) -> int:
        return len(list(mount_packages(wanted, root, stage, home="/home/sandbox", layer=None, writes_kept=True)))

    assert mounted(stage, *found) == len(PACKAGES)
    long = tmp_path.joinpath(*["long" * 50] * 5)
    long.mkdir(parents=True)
    rmtree(yarn.folder)
    assert not mounted(stage, replace(npm, folder=str(long)), replace(pip, folder=f"{root}/cache"), yarn)
    assert not mounted(stage, replace(uv, folder=str(tmp_path)), replace(uv, folder=root))
    assert not mounted(replace(stage, layer=Layer.COPY), *found)
    assert not mounted(replace(stage, runner=replace(stage.runner, uid=stage.runner.uid + 1)), *found)


@proves("TOOL-4")
async def test_one_layer_is_never_mounted_for_two_commands(caches: Caches) -> None:
    """A second command at the same time gets the real cache and writes to memory."""
    caches.find()
    root, staging = str(caches.bench.root), caches.bench.sandbox.staging
    with staging.lent_packages(root, runner_for(root)) as layers:
        assert layers is not None
        said = await caches.run(
            "echo mine > ~/.npm/_cacache/mine; cat ~/.npm/_cacache/mine ~/.npm/_cacache/content-v2/one"
        )
        assert said.startswith("mine\npackage of .npm")
        assert list(layers.iterdir()) == []
    with staging.lent_packages(root, runner_for(root)) as layers:
        assert layers is not None
