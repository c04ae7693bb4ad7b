"""The words that name the items of a disclosure on every screen that a person decides on: what a decision grants."""

from anycowork.domain.messages import Json
from anycowork.domain.values import value

ITEM_NAMES = {
    "tool": "tool",
    "command": "$",
    "check": "checked by $",
    "path": "file",
    "host": "reaches",
    "parameter": "with",
    "budget": "budget",
}
_ORIGIN_NAMES = {
    "workspace": "files of this folder",
    "web": "a page of {}",
    "git": "a repository of {}",
    "mcp": "the MCP server {}",
    "delegate": "the agent {}",
    "attachment": "an attached file",
    "import": "an imported or older chat",
}
_SINK_NAMES = {
    "network": "{}",
    "mcp": "the MCP tool {}",
    "push": "a push to {}",
    "control_file": "the control file {}",
    "key_file": "the key file {}",
    "task": "another agent ({})",
    "unsandboxed": "a command without the sandbox ({})",
}


@value
class EndorsementText:
    """What a person vouches for by allowing a call, in words: what was read, what it said, where the call goes. Untrusted text in part."""

    read: str
    passage: str
    target: str

    def lines(self) -> list[str]:
        return [self.read, *(f"> {line}" for line in self.passage.splitlines()), self.target]


def endorsement_text(approval: Json) -> EndorsementText | None:
    endorsement = approval.get("endorsement")
    if not isinstance(endorsement, dict):
        return None
    origins = endorsement.get("origins")
    sinks = endorsement.get("sinks")
    origin_names = [_origin_name(str(origin)) for origin in origins] if isinstance(origins, list) else []
    sink_names = [_sink_name(sink) for sink in sinks if isinstance(sink, dict)] if isinstance(sinks, list) else []
    return EndorsementText(
        f"The agent has read what nobody vouched for: {', '.join(origin_names)}. It said:",
        str(endorsement.get("passage") or ""),
        f"With it, the call goes to: {', '.join(sink_names)}.",
    )


def _origin_name(origin: str) -> str:
    name, _, subject = origin.partition(":")
    return _ORIGIN_NAMES.get(name, origin.replace("{", "(")).replace("{}", subject)


def _sink_name(sink: Json) -> str:
    return _SINK_NAMES.get(str(sink.get("kind")), "{}").replace("{}", str(sink.get("subject")))
