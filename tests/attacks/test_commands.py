"""Attempts of a command to get out of its sandbox, or to bring more home than it may. Nothing but what is allowed may change or be shown.

An attempt prints GOT where it believes to have succeeded.
"""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.roles import Permission
from anycowork.domain.tools import ToolResult
from anycowork.sandbox.layers.stage import Layer
from support.sandboxes import running
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

SECRET = "the secret of the neighbour"
in_both_layers = pytest.mark.parametrize("layer", Layer, ids=str)
TESTER = frozenset({Permission.READ_FILES, Permission.EXECUTE_COMMANDS})


@dataclass(frozen=True)
class Attempt:
    """`changes` are the workspace's paths that may be different afterwards; `dropped` why the delta must have been refused."""

    name: str
    command: str
    changes: frozenset[str] = frozenset()
    dropped: str | None = None
    timeout: float = 10.0

    def __str__(self) -> str:
        return self.name


def py(code: str) -> str:
    """Python for what a shell cannot say."""
    return f"python3 - <<'EOF'\n{code.strip()}\nEOF"


def syscall(name: str, x86_64: int, aarch64: int, *arguments: str) -> str:
    """Calls the kernel directly, past every wrapper; GOT if it did not refuse."""
    given = ", ".join(arguments)
    return py(
        f"""
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
number = {x86_64} if platform.machine() == "x86_64" else {aarch64}
answer = libc.syscall(number{", " + given if given else ""})
print("{name}", answer, os.strerror(ctypes.get_errno()))
if answer >= 0: print("GOT")
"""
    )


def connect(family: str, kind: str, address: str) -> str:
    return py(
        f"""
import socket
s = socket.socket(socket.{family}, socket.{kind})
s.settimeout(2)
try:
    s.connect({address})
    s.send(b"knock")
    print("sent")
except OSError as error:
    print(error)
"""
    )


# --- the prey


@dataclass
class Neighbours:
    """Services of this machine that no command may reach, and whether somebody did."""

    things: ExitStack = field(default_factory=ExitStack)
    knocked: list[Callable[[], bool]] = field(default_factory=list)
    port: int = 0
    udp_port: int = 0
    abstract: str = ""

    def open(self, folder: Path) -> None:
        tcp = self._listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self._listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.port, self.udp_port = tcp.getsockname()[1], udp.getsockname()[1]
        self.abstract = f"anycowork-{secrets.token_hex(4)}"
        self._listening(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.abstract}")
        self._listening(socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "s"))

    def _listening(self, family: int, kind: int, address: object) -> socket.socket:
        it = self.things.enter_context(socket.socket(family, kind))
        it.bind(address)  # type: ignore[arg-type]  # an address of whichever family
        it.setblocking(False)
        if kind == socket.SOCK_STREAM:
            it.listen()
        self.knocked.append(lambda: _knocked(it, kind))
        return it


def _knocked(it: socket.socket, kind: int) -> bool:
    try:
        if kind == socket.SOCK_STREAM:
            it.accept()[0].close()
        else:
            it.recv(10)
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def neighbours(bench: ToolWorkspace) -> Iterator[Neighbours]:
    found = Neighbours()
    with found.things:
        found.open(bench.root.parent)
        yield found


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with another in it, to be copied: making one takes four processes."""
    made = tmp_path_factory.mktemp("repository")
    git = ["git", "-c", "init.defaultBranch=main", "-c", "user.name=a", "-c", "user.email=a@b"]
    nobodys = {**os.environ, "HOME": str(made / "no-home")}
    for folder in (made, made / "sub"):
        folder.mkdir(exist_ok=True)
        subprocess.run([*git, "init", "-q"], cwd=folder, check=True, env=nobodys)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], cwd=folder, check=True, env=nobodys)
    return made


@pytest.fixture
def prey(bench: ToolWorkspace, repository: Path, monkeypatch: pytest.MonkeyPatch) -> ToolWorkspace:
    """A repository with another in it, a neighbour with secrets, and a server with a token in its environment."""
    for folder in ("secret", "home/.ssh/id_ed25519", "home/.netrc", "data/token"):
        target = bench.outside / folder
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(SECRET)
    monkeypatch.setenv("HOME", str(bench.outside / "home"))
    monkeypatch.setenv("ANYCOWORK_TOKEN", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    shutil.copytree(repository, bench.root, symlinks=True, dirs_exist_ok=True)
    bench.write("a.txt", "old\n")
    bench.write("docs/one.md", "1\n")
    bench.write("docs/two.md", "2\n")
    bench.write("wild/x", "x\n")
    os.link(bench.outside / "secret", bench.outside / "linked")
    return bench


async def attempt(
    prey: ToolWorkspace, command: str, permissions: frozenset[Permission] | None = None, timeout: float = 10.0
) -> ToolResult | None:
    tool_context = prey.tool_context() if permissions is None else prey.tool_context(permissions=permissions)
    try:
        return await prey.call("execute_command", tool_context, command=command, timeout=timeout)
    except AnyCoworkError:
        return None


def changed(before: dict[str, object], after: dict[str, object]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def everything(prey: ToolWorkspace) -> dict[str, object]:
    """The workspace: content, links, kinds and modes."""
    content = tree(prey.root)
    return {path: (what, (prey.root / path).lstat().st_mode) for path, what in content.items()}


DEVICES = [Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty")]


def machine() -> list[object]:
    """What of the machine itself an attempt might have changed."""
    # Anyone on the machine may set the times of what anyone may write, so /dev/null's own say nothing.
    devices = [
        (d.stat().st_mode, d.stat().st_ctime_ns if os.geteuid() == 0 and d.name != "null" else 0)
        for d in DEVICES
        if d.exists()
    ]
    return [
        devices,
        Path("/proc/sys/kernel/core_pattern").read_bytes(),
        sorted(Path("/").iterdir()),
        sorted(Path("/etc").iterdir()),
    ]


# --- out of the sandbox: whatever is tried, nothing comes of it

OUT = "$(dirname $PWD)/outside"
ESCAPES = [
    Attempt("write beside the workspace", f"echo x > {OUT}/planted && echo GOT"),
    Attempt("write above the workspace", "echo x > ../planted; true"),
    Attempt("make a folder above the workspace", "mkdir -p ../planted ../outside/planted; true"),
    Attempt("write to /etc", "echo x > /etc/planted && echo GOT"),
    Attempt("append to /etc/passwd", "echo x::0:0::/:/bin/sh >> /etc/passwd && echo GOT"),
    Attempt("write to /usr", "touch /usr/bin/planted && echo GOT"),
    Attempt("write to /", "touch /planted && echo GOT"),
    Attempt("write to /dev", "touch /dev/planted && echo GOT"),
    Attempt("write to /var", "mkdir -p /var/tmp && touch /var/tmp/planted && echo GOT"),
    Attempt("write through a link that leads out", f"ln -s {OUT} link; echo x > link/planted && echo GOT; rm link"),
    Attempt("write through /proc/self/root", "echo x > /proc/self/root/etc/planted && echo GOT"),
    Attempt("write through /proc/1/root", "echo x > /proc/1/root/etc/planted && echo GOT"),
    Attempt("write through /proc/1/cwd", "echo x > /proc/1/cwd/../planted; true"),
    Attempt("write into the data folder", "echo x > ../data/planted && echo GOT; ls ../data/staging && echo GOT"),
    Attempt("see the old root", "ls /oldroot /newroot && echo GOT"),
    Attempt("hard link to something outside", f"ln {OUT}/secret mine && echo GOT"),
    Attempt("move a file out", f"mv a.txt {OUT}/a.txt && echo GOT"),
    Attempt("write to a device of the machine", "ls /dev/vd* /dev/sd* /dev/nvme* /dev/mem /dev/kmsg && echo GOT"),
    Attempt("change a device's mode", "chmod 666 /dev/null /dev/zero /dev/tty /dev/urandom; true"),
    Attempt("change the mode of what stdin is", py("import os\nos.fchmod(0, 0o666)")),
    Attempt("touch a device", "touch -c /dev/null; true"),
    Attempt("set the machine's core pattern", 'v=$(cat /proc/sys/kernel/core_pattern); echo "$v" > /proc/sys/kernel/core_pattern && echo GOT'),
    Attempt("change a setting of the kernel", "v=$(cat /proc/sys/vm/overcommit_memory); echo $v > /proc/sys/vm/overcommit_memory && echo GOT"),
    Attempt("ask the kernel to do something", "echo h > /proc/sysrq-trigger && echo GOT"),
    Attempt("adjust the own kill score", "echo -1000 > /proc/self/oom_score_adj && echo GOT"),
    Attempt("read the neighbour's secret", f"cat {OUT}/secret && echo GOT"),
    Attempt("read the server's home", f"cat {OUT}/home/.ssh/id_ed25519 {OUT}/home/.netrc && echo GOT"),
    Attempt("read the own home's keys", "cat ~/.ssh/* ~/.netrc ~/.aws/credentials /root/.ssh/* /home/*/.ssh/* && echo GOT"),
    Attempt("read /etc/shadow", "cat /etc/shadow && echo GOT"),
    Attempt("read private keys of the machine", "ls /etc/ssl/private/* /etc/ssh/* && echo GOT"),
    Attempt("read the environment of the first process", "cat /proc/1/environ | tr '\\0' '\\n'"),
    Attempt("read every process's environment", "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env"),
    Attempt("read every process's words", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
    Attempt("read the first process's memory", "head -c 1 /proc/1/mem && echo GOT"),
    Attempt("read the first process's descriptors", "for f in /proc/1/fd/*; do timeout 1 head -c 100 $f; done"),
    Attempt("use inherited descriptors", py("import os\nfound = [f for f in os.listdir('/proc/self/fd') if int(f) > 3]\nprint(found)\nif found: print('GOT')")),
    Attempt("read the kernel's log", "dmesg && echo GOT"),
    Attempt("read kernel memory", "head -c 1 /proc/kcore && echo GOT"),
    Attempt("read the machine's mounts beyond", "cat /sys/class/net/*/address && echo GOT"),
    Attempt("read the server's cgroup files", "ls /sys/fs/cgroup/* && echo GOT"),
    Attempt("signal every process", "kill -0 -1 2>/dev/null; for p in $(seq 100 40000); do kill -0 $p 2>/dev/null && [ $p -gt 50 ] && [ $p != $$ ] && echo GOT; done; true"),
    Attempt("see other processes", "ls -d /proc/[0-9]* | wc -l | xargs test 20 -lt && echo GOT"),
    Attempt("mount something", "mount -t tmpfs none /mnt 2>&1 && echo GOT; mkdir -p /tmp/m; mount -t tmpfs none /tmp/m && echo GOT"),
    Attempt("remount the system writable", "mount -o remount,rw,bind /usr && echo GOT"),
    Attempt("remount /proc writable", "mount -o remount,rw /proc && echo GOT"),
    Attempt("bind a folder over another", "mkdir -p /tmp/m; mount --bind /etc /tmp/m && echo GOT"),
    Attempt("unmount the overlay", "umount -l $PWD && echo GOT; umount -l /tmp && echo GOT"),
    Attempt("pivot the root", "mkdir -p /tmp/r/old; pivot_root /tmp/r /tmp/r/old && echo GOT"),
    Attempt("change the root", "chroot /tmp /bin/true && echo GOT"),
    Attempt("make a user namespace", "unshare -U true && echo GOT"),
    Attempt("make a mount namespace", "unshare -m true && echo GOT; unshare -Urm true && echo GOT"),
    Attempt("enter the first process's namespaces", "nsenter -t 1 -m -p true && echo GOT"),
    Attempt("sandbox in the sandbox", "bwrap --ro-bind / / --unshare-user true && echo GOT"),
    Attempt("become root", "sudo -n true && echo GOT; su -c true && echo GOT"),
    Attempt("raise a limit", "ulimit -u unlimited && echo GOT; ulimit -f unlimited && echo GOT"),
    Attempt("make a device", "mknod dev c 1 3 && echo GOT; mknod /tmp/dev b 8 0 && echo GOT"),
    Attempt("make a whiteout by hand", "mknod a.hidden c 0 0 && echo GOT"),
    Attempt("set the hostname", "hostname planted && echo GOT"),
    Attempt("set the clock", "date -s '2001-01-01' && echo GOT"),
    Attempt("call clone3", syscall("clone3", 435, 435, "None", "0")),
    Attempt("call clone with a new user namespace", syscall("clone", 56, 220, "0x10000011", "0", "0", "0", "0")),
    Attempt("call unshare", syscall("unshare", 272, 97, "0x10000000")),
    Attempt("call setns", syscall("setns", 308, 268, "0", "0")),
    Attempt("call ptrace", syscall("ptrace", 101, 117, "0", "0", "0", "0")),
    Attempt("call keyctl", syscall("keyctl", 250, 219, "0", "-3", "0")),
    Attempt("call add_key", syscall("add_key", 248, 217, 'b"user"', 'b"x"', 'b"y"', "1", "-3")),
    Attempt("call bpf", syscall("bpf", 321, 280, "0", "None", "0")),
    Attempt("call userfaultfd", syscall("userfaultfd", 323, 282, "1")),
    Attempt("call perf_event_open", syscall("perf_event_open", 298, 241, "None", "0", "-1", "-1", "0")),
    Attempt("call io_uring_setup", syscall("io_uring_setup", 425, 425, "1", "ctypes.create_string_buffer(120)")),
    Attempt("call fsopen", syscall("fsopen", 430, 430, 'b"tmpfs"', "0")),
    Attempt("call open_tree", syscall("open_tree", 428, 428, "-100", 'b"/"', "1")),
    Attempt("call open_by_handle_at", syscall("open_by_handle_at", 304, 265, "-100", "None", "0")),
    Attempt("call kexec_load", syscall("kexec_load", 246, 104, "0", "0", "None", "0")),
    Attempt("call init_module", syscall("init_module", 175, 105, "None", "0", 'b""')),
    Attempt("call process_vm_readv on the first process", syscall("process_vm_readv", 310, 270, "1", "None", "0", "None", "0", "0")),
    Attempt("trace another process", py("import ctypes, subprocess\np = subprocess.Popen(['sleep', '5'])\nif ctypes.CDLL(None).ptrace(16, p.pid, 0, 0) >= 0: print('GOT')\np.kill()")),
    Attempt("push keys into a terminal", py("import fcntl\ntry:\n    fcntl.ioctl(open('/dev/tty', 'w'), 0x5412, b'x'); print('GOT')\nexcept OSError as e: print(e)")),
    Attempt("speak to the hypervisor", py("import socket\ntry:\n    socket.socket(40, socket.SOCK_STREAM); print('GOT')\nexcept OSError as e: print(e)")),
    Attempt("open a packet socket", py("import socket\ntry:\n    socket.socket(17, socket.SOCK_RAW, 3); print('GOT')\nexcept OSError as e: print(e)")),
    Attempt("open a raw socket", py("import socket\ntry:\n    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('GOT')\nexcept OSError as e: print(e)")),
    Attempt("use the kernel's crypto sockets", py("import socket\ntry:\n    socket.socket(38, socket.SOCK_SEQPACKET); print('GOT')\nexcept OSError as e: print(e)")),
]  # fmt: skip


@proves("TOOL-4")
@pytest.mark.parametrize("tried", ESCAPES, ids=str)
async def test_a_command_gets_nowhere(prey: ToolWorkspace, tried: Attempt) -> None:
    outside, workspace, around = tree(prey.outside), everything(prey), machine()
    result = await attempt(prey, tried.command)
    assert result is not None
    assert "GOT" not in result.content.split("\n") and SECRET not in result.content
    assert tree(prey.outside) == outside and machine() == around
    assert changed(workspace, everything(prey)) <= tried.changes
    assert sorted(path.name for path in prey.root.parent.iterdir()) == ["data", "outside", "workspace"]


NETWORK: list[tuple[str, Callable[[Neighbours, ToolWorkspace], str]]] = [
    ("TCP on loopback", lambda n, b: connect("AF_INET", "SOCK_STREAM", f"('127.0.0.1', {n.port})")),
    ("TCP by name", lambda n, b: connect("AF_INET", "SOCK_STREAM", f"('localhost', {n.port})")),
    ("TCP to any address", lambda n, b: connect("AF_INET", "SOCK_STREAM", f"('0.0.0.0', {n.port})")),
    ("TCP over IPv6", lambda n, b: connect("AF_INET6", "SOCK_STREAM", f"('::ffff:127.0.0.1', {n.port})")),
    ("TCP by bash", lambda n, b: f"exec 5<>/dev/tcp/127.0.0.1/{n.port} && echo knock >&5"),
    ("UDP on loopback", lambda n, b: connect("AF_INET", "SOCK_DGRAM", f"('127.0.0.1', {n.udp_port})")),
    ("UDP by bash", lambda n, b: f"echo knock > /dev/udp/127.0.0.1/{n.udp_port}"),
    ("an abstract socket", lambda n, b: connect("AF_UNIX", "SOCK_STREAM", f"'\\0{n.abstract}'")),
    ("a socket in the file system", lambda n, b: connect("AF_UNIX", "SOCK_STREAM", f"'{b.root.parent}/s'")),
    ("our own API by curl", lambda n, b: f"curl -sS -m 2 http://127.0.0.1:{n.port}/healthz"),
    ("a name on the internet", lambda n, b: "getent hosts example.com && echo GOT"),
    ("an address on the internet", lambda n, b: "timeout 2 bash -c 'exec 5<>/dev/tcp/1.1.1.1/53' && echo GOT"),
    ("a network of its own", lambda n, b: "ip link add dummy0 type dummy && echo GOT; ip route add default via 127.0.0.1 && echo GOT"),
]  # fmt: skip


@proves("TOOL-4", "SEC-5")
@pytest.mark.parametrize(("name", "command"), NETWORK, ids=[name for name, _ in NETWORK])
async def test_a_command_reaches_no_service(
    prey: ToolWorkspace, neighbours: Neighbours, name: str, command: Callable[[Neighbours, ToolWorkspace], str]
) -> None:
    result = await attempt(prey, command(neighbours, prey))
    assert result is not None and "GOT" not in result.content.split("\n")
    assert not any(knocked() for knocked in neighbours.knocked)


# --- floods and survivors

FLOODS = [
    Attempt("fork bomb", ":(){ :|:& };:; sleep 1", timeout=5),
    Attempt("many processes", "for i in $(seq 500); do sleep 60 & done; n=$(ls -d /proc/[0-9]* | wc -l); [ $n -gt 80 ] && echo GOT", timeout=5),
    Attempt("memory flood", py("x = []\ntry:\n    while True: x.append(bytearray(64 << 20))\nexcept MemoryError: print('stopped')")),
    Attempt("memory flood by tmpfs", "head -c 100M /dev/zero > /tmp/x && echo GOT; head -c 100M /dev/zero > /dev/shm/x && echo GOT"),
    Attempt("memory flood by the home folder", "head -c 100M /dev/zero > ~/x && echo GOT"),
    Attempt("one endless file", "head -c 100M /dev/zero > big && echo GOT; rm -f big"),
    Attempt("a file with a hole of a terabyte", "truncate -s 1T hole && echo GOT; rm -f hole"),
    Attempt("endless output", "yes", timeout=5),
    Attempt("endless errors", "yes >&2", timeout=5),
    Attempt("waiting for ever", "cat /dev/zero > /dev/null", timeout=0.5),
    Attempt("stopped processes", "kill -STOP $$; echo GOT", timeout=0.5),
]  # fmt: skip


@proves("TOOL-4")
@pytest.mark.parametrize("tried", FLOODS, ids=str)
async def test_a_flood_is_dammed(prey: ToolWorkspace, tried: Attempt) -> None:
    workspace = everything(prey)
    result = await attempt(prey, tried.command, timeout=tried.timeout)
    assert result is not None and "GOT" not in result.content.split("\n")
    assert everything(prey) == workspace


SURVIVORS = [
    ("in the background", "sleep 300.{0} & true"),
    ("without hang-up", "nohup sleep 300.{0} >/dev/null 2>&1 & true"),
    ("in a session of its own", "setsid sleep 300.{0} >/dev/null 2>&1 & true"),
    ("forked twice", "(setsid bash -c '(sleep 300.{0} &) &' >/dev/null 2>&1 &); sleep 0.1"),
    ("deaf to signals", "bash -c \"trap '' TERM HUP INT; sleep 300.{0}\" & true"),
    ("stopped", "sleep 300.{0} & kill -STOP $!; true"),
    ("holding the output open", "exec 3>&1; (sleep 300.{0} >&3 &) ; true"),
    ("after the command was stopped", "setsid sleep 300.{0} & sleep 300.{0}"),
]


@proves("TOOL-4")
@pytest.mark.parametrize(("name", "command"), SURVIVORS, ids=[name for name, _ in SURVIVORS])
async def test_no_process_outlives_its_command(prey: ToolWorkspace, name: str, command: str) -> None:
    number = str(secrets.randbelow(10**9))
    assert await attempt(prey, command.format(number), timeout=1.0) is not None
    assert running(f"300.{number}") == []


# --- what may not be brought home

NEVER, WORD, UNUSABLE = "never_path", "needs_a_persons_word", "changes_dropped"
SMUGGLED = [
    Attempt("a hook", "echo 'touch x' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", dropped=NEVER),
    Attempt("a setting with git", "git config core.fsmonitor ./evil", dropped=NEVER),
    Attempt("an alias", "git config alias.st '!./evil'", dropped=NEVER),
    Attempt("a setting by hand", "echo '[core] fsmonitor=./evil' >> .git/config", dropped=NEVER),
    Attempt("a setting for this work tree", "echo '[core]' > .git/config.worktree", dropped=NEVER),
    Attempt("attributes", "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", dropped=NEVER),
    Attempt("ignores of git's own", "echo x >> .git/info/exclude", dropped=NEVER),
    Attempt("another common folder", "echo ../evil > .git/commondir", dropped=NEVER),
    Attempt("another store of objects", "mkdir -p .git/objects/info; echo /x > .git/objects/info/alternates", dropped=NEVER),
    Attempt("a link in git's folder", "rm -r .git/logs; ln -s /tmp .git/logs", dropped=NEVER),
    Attempt("a nested repository's settings", "echo '[core]' >> sub/.git/config", dropped=NEVER),
    Attempt("a new nested repository", "mkdir n; git init -q n", dropped=NEVER),
    Attempt("a repository deep down", "mkdir -p x/y/z/.git/hooks; echo x > x/y/z/.git/hooks/post-checkout", dropped=NEVER),
    Attempt("a bare repository", "git init -q --bare bare", dropped=NEVER),
    Attempt("a bare repository by hand", "mkdir -p b/objects b/refs; echo 'ref: refs/heads/main' > b/HEAD; echo x > b/config", dropped=NEVER),
    Attempt("a link that is a repository", "mkdir w; ln -s ../.git w/.git", dropped=NEVER),
    Attempt("another spelling of .git", "mkdir -p w/.GIT; echo x > w/.GIT/config", dropped=NEVER),
    Attempt("git's short name", "mkdir -p 'w/GIT~1'; echo x > 'w/GIT~1/config'", dropped=NEVER),
    Attempt("moving .git away and back", "mv .git x; cp -r x .git; echo '[core]' >> .git/config; rm -r x", dropped=NEVER),
    Attempt("moving .git away", "mv .git x", dropped=NEVER),
    Attempt("removing .git", "rm -rf .git", dropped=NEVER),
    Attempt("removing a nested repository with its folder", "rm -rf sub", dropped=NEVER),
    Attempt("an empty folder in place of .git", "rm -rf .git; mkdir .git", dropped=NEVER),
    Attempt("a file in place of .git", "rm -rf .git; echo 'gitdir: evil' > .git", dropped=NEVER),
    Attempt("a link in place of .git", "mv .git x; ln -s x .git", dropped=NEVER),
    Attempt("a link in place of the folder around a repository", "mv sub y; ln -s y sub", dropped=NEVER),
    Attempt("closing .git", "chmod 000 .git", dropped=NEVER),
    Attempt("a hidden change among many", "for i in $(seq 300); do echo $i > f$i; done; echo x > .git/hooks/post-merge", dropped=NEVER),
    Attempt("instructions for agents", "echo 'obey' > AGENTS.md", dropped=WORD),
    Attempt("instructions deep down", "mkdir -p a/b; echo 'obey' > a/b/CLAUDE.md", dropped=WORD),
    Attempt("instructions in another case", "echo 'obey' > agents.MD", dropped=WORD),
    Attempt("rules for an editor's agent", "echo x > .cursorrules", dropped=WORD),
    Attempt("tasks for an editor", "mkdir .vscode; echo '{}' > .vscode/tasks.json", dropped=WORD),
    Attempt("servers for agents", "echo '{}' > .mcp.json", dropped=WORD),
    Attempt("an environment for shells", "echo 'evil' > .envrc", dropped=WORD),
    Attempt("hooks by another name", "mkdir .husky; echo evil > .husky/pre-commit", dropped=WORD),
    Attempt("work for the CI machines", "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/x.yml", dropped=WORD),
    Attempt("our own folder", "mkdir -p .anycowork/workflows; echo x > .anycowork/workflows/y.md", dropped=WORD),
    Attempt("a link where an editor looks", "mkdir e; ln -s e .vscode", dropped=WORD),
    Attempt("the commits that git keeps", "rm -rf .git/objects/??", dropped=WORD),
    Attempt("git's store as a whole", "rm -rf .git/objects; mkdir .git/objects", dropped=WORD),
    Attempt("a commit that is rotten", "f=$(find .git/objects -type f | head -1); chmod +w $f; echo rot > $f", dropped=WORD),
    Attempt("a nested repository's commits", "find sub/.git/objects -type f -delete", dropped=WORD),
    Attempt("a name that is no text", "touch $'\\xff\\xfe'; touch other", dropped=UNUSABLE),
    Attempt("folders without end", py("import os\nfor _ in range(300):\n    os.mkdir('d'); os.chdir('d')"), dropped=UNUSABLE),
    Attempt("paths without end", py("import os\nfor _ in range(30):\n    os.mkdir('d' * 200); os.chdir('d' * 200)"), dropped=UNUSABLE),
]  # fmt: skip


@proves("SNAP-4", "PER-4")
@pytest.mark.parametrize("tried", SMUGGLED, ids=str)
@in_both_layers
async def test_nothing_is_smuggled_into_the_workspace(prey: ToolWorkspace, tried: Attempt) -> None:
    outside, workspace = tree(prey.outside), everything(prey)
    result = await attempt(prey, f"echo plain > plain.txt; {tried.command}")
    assert result is not None and result.facts["dropped"] == tried.dropped, result.content
    assert everything(prey) == workspace and tree(prey.outside) == outside and prey.intended == []


LEFT_OUT = [
    Attempt("a submodule's settings", "mkdir -p .git/modules/m; echo x > .git/modules/m/config"),
    Attempt("a work tree", "mkdir -p .git/worktrees/w; echo x > .git/worktrees/w/gitdir"),
    Attempt("a file that points to a repository", "mkdir w; echo 'gitdir: ../evil' > w/.git"),
]


@proves("SNAP-4", "PER-4")
@pytest.mark.parametrize("tried", LEFT_OUT, ids=str)
@in_both_layers
async def test_a_new_submodule_or_worktree_is_left_out(prey: ToolWorkspace, tried: Attempt) -> None:
    outside, workspace = tree(prey.outside), everything(prey)
    result = await attempt(prey, f"echo plain > plain.txt; {tried.command}")
    assert result is not None and result.facts["left_out"] and "dropped" not in result.facts, result.content
    (prey.root / "plain.txt").unlink()
    assert everything(prey) == workspace and tree(prey.outside) == outside


@proves("ROL-5/6", "SNAP-4")
@pytest.mark.parametrize("tried", SMUGGLED[::4], ids=str)
@in_both_layers
async def test_a_tester_brings_nothing_home_at_all(prey: ToolWorkspace, tried: Attempt) -> None:
    workspace = everything(prey)
    result = await attempt(prey, f"rm -rf docs; echo plain > a.txt; {tried.command}", TESTER)
    assert result is not None and result.facts["dropped"] == "role"
    assert everything(prey) == workspace and prey.intended == []


# --- what may be brought home comes as what it is, and nowhere else


def only(*paths: str) -> frozenset[str]:
    return frozenset(paths)


BROUGHT = [
    Attempt("a pipe and a socket", "mkfifo p; " + py("import socket\nsocket.socket(socket.AF_UNIX).bind('s')") + "\ntouch ok", only("ok")),
    Attempt("a setuid program", "cp /bin/true suid; chmod 4755 suid", only("suid")),
    Attempt("a setgid program", "cp /bin/true sgid; chmod 2755 sgid", only("sgid")),
    Attempt("a link that leads out", f"ln -s {OUT} way; echo x > b.txt", only("way", "b.txt")),
    Attempt("a folder swapped for a link", f"rm -r docs; ln -s {OUT} docs", only("docs", "docs/one.md", "docs/two.md")),
    Attempt("a link swapped for a folder", f"ln -s {OUT} l; rm l; mkdir l; echo x > l/secret", only("l", "l/secret")),
    Attempt("a file swapped for a folder", "rm a.txt; mkdir a.txt; echo x > a.txt/secret", only("a.txt", "a.txt/secret")),
    Attempt("a folder swapped for a file", "rm -r wild; echo x > wild", only("wild", "wild/x")),
    Attempt("an opaque folder", "rm -r docs; mkdir docs; echo n > docs/new", only("docs/new", "docs/one.md", "docs/two.md")),
    Attempt("attributes of the overlay", py("import os\nos.mkdir('o')\nfor n in ('opaque', 'origin', 'redirect', 'metacopy', 'whiteout'):\n    for p in ('o', 'docs', 'a.txt'):\n        try: os.setxattr(p, 'user.overlay.' + n, b'y')\n        except OSError: pass"), only("o")),
    Attempt("hard links", "echo x > h1; ln h1 h2; ln a.txt h3", only("h1", "h2", "h3")),
    Attempt("names with everything in them", "touch -- $'new\\nline' 'bl ank' 'é' '-rf' '$(touch x)' $'tab\\t' '\"'", only("new\nline", "bl ank", "é", "-rf", "$(touch x)", "tab\t", '"')),
    Attempt("a very long name", "touch $(printf 'n%.0s' $(seq 255))", only("n" * 255)),
    Attempt("a name like our own temporaries", "touch .anycowork-x-1.tmp", only(".anycowork-x-1.tmp")),
    Attempt("closed folders and files", "mkdir c; touch c/f; chmod 000 c/f c", only("c", "c/f")),
    Attempt("times of the future", "touch -d 2099-01-01 a.txt; echo x >> a.txt; touch -d 1971-01-01 a.txt", only("a.txt")),
    Attempt("programs for the server", "mkdir bin; for n in git rg bwrap bash; do printf '#!/bin/sh\\necho GOT\\n' > bin/$n; chmod +x bin/$n; done; cp bin/git .; echo 'echo GOT' > bashrc; touch evil.so", only("bin", "bin/git", "bin/rg", "bin/bwrap", "bin/bash", "git", "bashrc", "evil.so")),
    Attempt("a variable for shells", "export BASH_ENV=$PWD/.bashrc LD_PRELOAD=$PWD/evil.so PATH=$PWD:$PATH; touch ok", only("ok")),
]  # fmt: skip


@proves("SNAP-4", "TOOL-4")
@pytest.mark.parametrize("tried", BROUGHT, ids=str)
@in_both_layers
async def test_what_is_brought_home_is_only_that(prey: ToolWorkspace, tried: Attempt) -> None:
    outside, workspace, around = tree(prey.outside), everything(prey), machine()
    result = await attempt(prey, tried.command)
    assert result is not None and "dropped" not in result.facts, result.content
    for closed in ("c", "c/f"):
        if (prey.root / closed).exists():
            assert (prey.root / closed).stat().st_mode & 0o777 == 0
            (prey.root / closed).chmod(0o700)
    after = everything(prey)
    assert changed(workspace, after) == tried.changes
    assert tree(prey.outside) == outside and machine() == around
    for path in prey.root.rglob("*"):
        assert not path.lstat().st_mode & 0o4000 and (path.is_dir() or not path.lstat().st_mode & 0o2000)
        assert not [name for name in os.listxattr(path, follow_symlinks=False) if "overlay" in name]
    again = await attempt(prey, "echo fine")
    assert again is not None and again.content.startswith("fine\nexit code 0")
