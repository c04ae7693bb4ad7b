"""What a stdio server sees of the folders that its program is installed in."""

from pathlib import Path

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.mcp.program import find_program

PASSWORD = "machine example.com login me password hunter2\n"


def test_a_credential_that_came_or_changed_between_two_starts_is_covered_at_the_next(tmp_path: Path) -> None:
    tool, data = tmp_path / "tool", tmp_path / "data"
    for folder in (tool / "bin", tool / "lib" / "deep" / "er", data):
        folder.mkdir(parents=True)
    program = tool / "bin" / "serve"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tool / "npmrc").write_text("prefix=/usr\n")
    server = McpServerConfig(name="far", command=str(program))

    def hidden() -> set[str]:
        paths = map(Path, find_program(server, data).hidden)  # the starter's Python may have some of its own
        return {str(path.relative_to(tool)) for path in paths if path.is_relative_to(tool)}

    assert hidden() == set()
    (tool / "lib" / "deep" / "er" / ".netrc").write_text(PASSWORD)
    assert hidden() == {"lib/deep/er/.netrc"}
    (tool / "npmrc").write_text("//registry.example.com/:_authToken=abc\n")
    assert hidden() == {"lib/deep/er/.netrc", "npmrc"}
    (tool / "lib" / "deep" / "er" / ".netrc").unlink()
    assert hidden() == {"npmrc"}
