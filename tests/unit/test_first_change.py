"""The tool of docs/first-change.md works as the page says."""

import re
from pathlib import Path

from anycowork.tools import read_tools
from anycowork.tools.toolbox import ToolRegistry
from support.tool_workspace import ToolWorkspace

PAGE = Path(__file__).parents[2] / "docs" / "first-change.md"


async def test_tool_of_the_page_counts_lines(tmp_path: Path) -> None:
    tool_source = re.findall(r"^```python\n(class .*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    names = dict(vars(read_tools))
    exec(tool_source[0], names)  # the page's own code
    (root := tmp_path / "workspace").mkdir()
    workspace = ToolWorkspace(root, tmp_path / "outside")
    workspace.toolbox = ToolRegistry([names["CountLines"]()])
    workspace.write("a.txt", "x\ny\n")
    assert (await workspace.call("count_lines", path="a.txt")).content == "2 lines"
