"""MCP servers that editors pass: programs under plain names, each once; remote ones are left out by name."""

from acp.schema import EnvVariable, HttpMcpServer, McpServerStdio

from anycowork.acp.agent import failures, session_servers
from anycowork.domain.mcp_servers import ChatMcpServer


def program(name: str) -> McpServerStdio:
    return McpServerStdio(name=name, command="/bin/x", args=["-v"], env=[EnvVariable(name="KEY", value="secret")])


def test_every_name_becomes_one_that_the_server_takes_and_no_two_are_alike() -> None:
    names = ["Git", "git", "a__b..c", "", "Ünïcode server with a very long name", "-_-", "🙂"]
    wanted, left_out = session_servers([program(name) for name in names])
    found = [ChatMcpServer.model_validate(one).name for one in wanted]
    assert len(set(found)) == len(names) and found[:3] == ["git", "git-2", "a-b-c"] and left_out == []
    assert wanted[0]["env"] == {"KEY": "secret"}


def test_remote_and_too_many_servers_are_left_out_by_name() -> None:
    remote = HttpMcpServer(type="http", name="far", url="http://x", headers=[])
    wanted, left_out = session_servers([remote, *(program(f"p{n}") for n in range(12))])
    assert len(wanted) == 10 and left_out == ["far", "p10", "p11"]


def test_those_that_did_not_start_are_named_with_the_reason() -> None:
    assert failures([{"name": "a", "status": "ready"}, {"name": "b", "status": "failed", "error": "gone"}]) == [
        "b: gone"
    ]
