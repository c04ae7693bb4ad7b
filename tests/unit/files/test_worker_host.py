"""The process that forks for each file: its libraries are loaded once, files share nothing, and what kills one harms no other."""

import os
import signal

from anycowork.files.worker_host import WorkerHost

PAGE = ("text/html", "", "http://docs.example/", "1000")


def host_of_pages() -> WorkerHost:
    return WorkerHost("anycowork.tools.web.page_worker")


def test_pages_are_read_by_one_host_that_is_replaced_when_it_is_gone() -> None:
    host = host_of_pages()
    try:
        assert host.run(b"<h1>One</h1>", *PAGE)["text"] == "# One"
        first = host._process
        assert host.run(b"<h1>Two</h1>", *PAGE)["text"] == "# Two" and host._process is first
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert host.run(b"<h1>Three</h1>", *PAGE)["text"] == "# Three"
        assert host._process is not first
    finally:
        host.close()
    assert host._process is None


def test_a_host_that_ends_between_two_pages_is_asked_again() -> None:
    host = host_of_pages()
    try:
        host.run(b"<p>One", *PAGE)
        assert host._process is not None and host._socket is not None
        os.kill(host._process.pid, signal.SIGSTOP)  # it takes no request any more, and then is gone
        os.kill(host._process.pid, signal.SIGKILL)
        assert host.run(b"<p>Two", *PAGE)["text"] == "Two"
    finally:
        host.close()


def test_a_worker_that_dies_of_its_page_leaves_the_host_at_work() -> None:
    host = WorkerHost("support.dying_worker")
    try:
        assert host.run(b"memory")["fault"] == "takes too long or too much memory to read"
        first = host._process
        assert host.run(b"signal")["fault"] == "takes too long or too much memory to read"
        assert host.run(b"fine") == {"text": "fine", "sockets": 0} and host._process is first
    finally:
        host.close()
