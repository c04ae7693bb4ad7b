"""The child process that reads a PDF: its standard input is the file, its standard output one JSON object. It trusts nothing in the file.

It limits itself before it reads: processor time, memory and size of the answer; and, where the kernel has Landlock, it reads
only Python's own files, writes and starts nothing and connects nowhere. Run with `-I` and one argument: how much text is wanted at most.
"""

import json
import os
import resource
import sys
from typing import BinaryIO

from anycowork.workspace.landlock import NOTHING, Ruleset, landlock_abi, read_only_in

CPU_SECONDS = 20
MEMORY = 768 << 20
MOST_PAGES = 5_000
ANSWER = 4 << 20


def main() -> int:
    most_bytes = int(sys.argv[1])
    from pypdf import PdfReader  # loaded before the limits: the library's size is not the file's fault

    limit_this_process()
    try:
        answer: dict[str, object] = read_pdf(PdfReader, sys.stdin.buffer, most_bytes)
    except MemoryError:
        answer = {"fault": "needs too much memory"}
    except RecursionError:
        answer = {"fault": "is nested too deep"}
    except Exception as error:  # noqa: BLE001  # a hostile file can make the library raise anything
        answer = {"fault": "is damaged or not a PDF", "detail": type(error).__name__}
    sys.stdout.write(json.dumps(answer))
    return 0


def limit_this_process() -> None:
    hard = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: ANSWER,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    for kind, most in hard.items():
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            continue  # macOS has no limit of this kind; the parent's time limit holds
    if landlock_abi():
        root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        Ruleset(NOTHING, root).restrict_this_thread()
        os.close(root)
        read_only_in(_libraries())


def _libraries() -> list[str]:
    """Where modules and shared libraries lie that may be loaded late."""
    module_folders = [folder for folder in sys.path if folder]
    return [*module_folders, f"{sys.base_prefix}/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache"]


def read_pdf(reader_type: type, pdf_file: BinaryIO, most_bytes: int) -> dict[str, object]:
    reader = reader_type(pdf_file, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"fault": "is protected by a password"}
    if len(reader.pages) > MOST_PAGES:
        return {"fault": f"has more than {MOST_PAGES:,} pages"}
    texts: list[str] = []
    size = 0
    for page in reader.pages:
        text = page.extract_text() or ""
        size += len(text.encode("utf-8", "replace")) + 2
        if size > most_bytes:
            return {"fault": f"has more than {most_bytes // 1024} KB of text"}
        texts.append(text)
    return {"text": "\n\n".join(texts), "pages": len(texts)}


if __name__ == "__main__":
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123  # warnings about the file are nobody's news
    sys.exit(main())
