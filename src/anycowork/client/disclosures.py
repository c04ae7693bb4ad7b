"""The words that name the items of a disclosure on every screen that a person decides on: what a decision grants, what a rule covers."""

from anycowork.client.rule_sentences import argument_texts, rule_sentence
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.values import value

ITEM_NAMES = {
    "tool": "tool",
    "command": "$",
    "check": "checked by $",
    "call": "calls",
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


def items_below_head(approval: Json) -> list[Json]:
    """The items that the heading of a call (its tool and what it concerns) does not show already; a held call keeps its paths."""
    disclosure = approval.get("disclosure")
    listed = disclosure.get("items") if isinstance(disclosure, dict) else None
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    others = [item for item in items if item.get("kind") != "tool"]
    if approval.get("held"):
        return others
    subject = str(approval.get("resource")).removeprefix("/")
    named = [item for item in others if not item.get("control") and str(item.get("text")).removeprefix("/") == subject]
    parameters = [item for item in others if item.get("kind") == "parameter"]
    in_head = ("path", "parameter") if len(parameters) == 1 else ("path",)  # a list of parameters names every one
    return [item for item in others if item not in named or item.get("kind") not in in_head]


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


def saved_rules_text(approval: Json) -> str | None:
    """What a standing answer saves: the proposed rule, one for each host, and as endorsements what the call needs one for."""
    rule, network, endorsement = approval.get("proposed_rule"), approval.get("network"), approval.get("endorsement")
    if not isinstance(rule, dict):
        return None
    hosts = network if isinstance(network, list) and rule.get("tool") != NETWORK else []
    rules: list[Json] = [rule, *({"tool": NETWORK, "resource": host} for host in hosts)]
    if not isinstance(endorsement, dict):
        return "; ".join(rule_sentence(saved, "allow") for saved in rules)
    origins, sinks = endorsement.get("origins"), endorsement.get("sinks")
    subjects = [sink.get("subject") for sink in sinks if isinstance(sink, dict)] if isinstance(sinks, list) else []
    bases = [
        next((saved for saved in rules if saved["tool"] == NETWORK and saved["resource"] == subject), rule)
        for subject in subjects
    ]
    plain_texts = [rule_sentence(saved, "allow") for saved in rules if saved not in bases]
    endorsing = [
        f"{rule_sentence(base, 'allow')}, also after it read {_origin_name(str(origin))}"
        for base in bases
        for origin in (origins if isinstance(origins, list) else [])
    ]
    return "; ".join(dict.fromkeys([*plain_texts, *endorsing]))


def planned_call_text(planned: Json) -> str:
    """What a step of a plan says of a call of a server's tool."""
    texts = argument_texts({"fixed": planned.get("arguments") or {}, "text": planned.get("text") or []})
    return f"{planned.get('tool')} {'with ' + ', '.join(texts) if texts else 'without arguments'}"


def _origin_name(origin: str) -> str:
    name, _, subject = origin.partition(":")
    return _ORIGIN_NAMES.get(name, origin.replace("{", "(")).replace("{}", subject)


def _sink_name(sink: Json) -> str:
    return _SINK_NAMES.get(str(sink.get("kind")), "{}").replace("{}", str(sink.get("subject")))
