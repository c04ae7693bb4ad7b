"""What does reading a web page cost beside its download: the server's own share, and that of the child that turns it into Markdown?

A child's time is measured from its fork to its end. Each figure is the least of several.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from anycowork.files.worker_host import WorkerHost
from anycowork.tools.web import page_worker
from measuring import Ground, Leg

QUESTION = "CPU that a page of 1 MB and one of a few words cost beside their download; its conversion alone"
BURSTS = 6
_PARAGRAPH = "<p>It was the <b>best</b> of times, it was the <a href='/p/%d'>worst</a> of times &mdash; “caf\u00e9” &amp; all.</p>\n"
LARGE = "".join(_PARAGRAPH % number for number in range(9_000)).encode()[: 1 << 20]
SMALL = b"<p>a few words"
ARGUMENTS = ("text/html; charset=utf-8", "", "http://docs.example/", "1000000")


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    host = WorkerHost("anycowork.tools.web.page_worker")
    try:
        yield {
            "server_1_mb": partial(_least, partial(_server, host, LARGE)),
            "child_1_mb": partial(_least, partial(_child, LARGE)),
            "child_words": partial(_least, partial(_child, SMALL)),
            "conversion_1_mb": partial(_least, _conversion),
        }
    finally:
        host.close()


def _least(burst: Leg) -> dict[str, float]:
    return {"cpu_ms": min(burst()["cpu_ms"] for _ in range(BURSTS))}


def _server(host: WorkerHost, page: bytes) -> dict[str, float]:
    before = time.process_time()
    assert host.run(page, *ARGUMENTS)["text"]
    return {"cpu_ms": (time.process_time() - before) * 1000}


def _child(page: bytes) -> dict[str, float]:
    """As the host does it: the fork of a process that has the libraries loaded."""
    with tempfile.TemporaryFile() as content, tempfile.TemporaryFile() as answer:
        content.write(page)
        content.seek(0)
        child = os.fork()
        if child == 0:
            os.dup2(content.fileno(), 0)
            os.dup2(answer.fileno(), 1)
            sys.argv[1:] = ARGUMENTS
            os._exit(page_worker.main())
        _, status, used = os.wait4(child, 0)
        assert status == 0
    return {"cpu_ms": (used.ru_utime + used.ru_stime) * 1000}


def _conversion() -> dict[str, float]:
    """The library's own work, to which nothing can be added for less."""
    before = time.process_time()
    assert page_worker.read_page(LARGE, *ARGUMENTS[::2])["text"]
    return {"cpu_ms": (time.process_time() - before) * 1000}
