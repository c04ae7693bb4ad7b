"""Agent Skills: a folder with a `SKILL.md` whose YAML front matter says what the skill is for and what it needs. Reads text, no files."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.network import read_destination
from anycowork.domain.values import value

SKILL_FILE = "SKILL.md"
COMMAND_FILE = "COMMAND.md"
"""A plugin's command, in a folder of its own as a skill's file is."""
NETWORK_KEY, PATHS_KEY = "anycowork-network", "anycowork-paths"
LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 64, 1_024, 500
_LONGEST_FRONT = 16_384  # characters
_NAME = re.compile(r"[a-z0-9]++(?:-[a-z0-9]++)*+")
_TOOL = re.compile(r"[^\s,()]++(?:\([^()]*+\))?")
_FENCE = "---"


class SkillSource(StrEnum):
    WORKSPACE = "workspace"
    DATA = "data"
    PLUGIN = "plugin"


@value
class Declared:
    """What a skill says it needs: tools as its author names them, hosts, and the paths that it changes (any, if it names none)."""

    tools: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def to_json(self) -> Json:
        return {"tools": list(self.tools), "network": list(self.network), "paths": list(self.paths)}

    @classmethod
    def from_json(cls, stored: JsonValue) -> "Declared":
        """Reads what `to_json` wrote; what is missing is not declared."""
        fields = stored if isinstance(stored, dict) else {}
        return cls(*(_texts(fields.get(key)) for key in ("tools", "network", "paths")))


@value
class ActiveSkill:
    """A skill that a turn works by."""

    name: str
    declared: Declared


@value
class SkillProblem:
    """Why a skill cannot be used, and where: a file of its folder, and a line if one is at fault."""

    message: str
    path: str = SKILL_FILE
    line: int | None = None

    def to_json(self) -> Json:
        return {"message": self.message, "path": self.path, "line": self.line}


@value
class SkillFile:
    """A file of a skill's folder. `text` is None if nobody asked for it, or it is a key file or no short UTF-8 text."""

    path: str
    size: int
    sha256: str
    text: str | None = None

    def to_json(self) -> Json:
        return {"path": self.path, "bytes": self.size, "sha256": self.sha256, "text": self.text}


@value
class Skill:
    """A skill as it lies in its folder. `sha256` covers every file of it. `changed`: a person trusted other content before.

    `path` is its folder, from the workspace or the data folder.
    """

    name: str
    source: SkillSource
    path: str
    description: str = ""
    declared: Declared = Declared()
    sha256: str = ""
    content: str = ""
    files: tuple[SkillFile, ...] = ()
    problems: tuple[SkillProblem, ...] = ()
    trusted: bool = False
    changed: bool = False

    def to_json(self) -> Json:
        """As it is listed."""
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source.value,
            "path": self.path,
            "sha256": self.sha256,
            "trusted": self.trusted,
            "changed": self.changed,
            "declared": self.declared.to_json(),
            "problems": [problem.to_json() for problem in self.problems],
        }


@value
class SkillText:
    """What a `SKILL.md` says."""

    name: str = ""
    description: str = ""
    declared: Declared = Declared()
    problems: tuple[SkillProblem, ...] = ()


def read_skill_text(folder_name: str, text: str) -> SkillText:
    """Reads a `SKILL.md`; what does not fit the specification is among the problems, each with its line."""
    front = _front_matter(text)
    if isinstance(front, SkillProblem):
        return SkillText(folder_name, problems=(front,))
    nodes = _nodes(front)
    if isinstance(nodes, SkillProblem):
        return SkillText(folder_name, problems=(nodes,))
    fields = {key: node.value.strip() for key, node in nodes.items() if isinstance(node.value, str)}
    lines = {key: node.start_mark.line + 2 for key, node in nodes.items()}
    declared = _declared(nodes)
    faults = (*_field_faults(folder_name, fields), *_need_faults(declared))
    problems = tuple(SkillProblem(message, line=lines.get(key, 1)) for key, message in faults)
    return SkillText(fields.get("name", ""), " ".join(fields.get("description", "").split()), declared, problems)


def read_command_text(name: str, text: str) -> SkillText:
    """Reads a plugin's command: as a `SKILL.md`, but named by its file, and its front matter may be missing."""
    lines = text.replace("\r\n", "\n").split("\n")
    nodes: dict[str, Any] | SkillProblem = {}  # Any: as in `_nodes`
    if lines[0].rstrip() == _FENCE:
        front = _front_matter(text)
        nodes = front if isinstance(front, SkillProblem) else _nodes(front)
        lines = lines[1 + next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), 0) :]
    if isinstance(nodes, SkillProblem):
        return SkillText(name, problems=(SkillProblem(nodes.message, COMMAND_FILE, nodes.line),))
    stated = nodes["description"].value if "description" in nodes else ""
    first_line = next((line.strip("# \t") for line in lines if line.strip("# \t")), "")
    description = " ".join((stated if isinstance(stated, str) and stated else first_line).split())[:LONGEST_DESCRIPTION]
    declared = _declared(nodes)
    problems = [SkillProblem(message, COMMAND_FILE, 1) for _, message in _need_faults(declared)]
    return SkillText(name, description, declared, tuple(problems))


def activation(skill: Skill) -> Json:
    """Returns what a message stores of the skill that it activates: exactly the text that the model gets in this turn."""
    return {
        "name": skill.name,
        "source": skill.source.value,
        "path": skill.path,
        "sha256": skill.sha256,
        "declared": skill.declared.to_json(),
        "content": skill.content,
    }


def activated(payload: Json | None) -> ActiveSkill | None:
    """Returns the skill that a message activated."""
    stored = payload.get("skill") if payload else None
    if not isinstance(stored, dict):
        return None
    return ActiveSkill(str(stored.get("name")), Declared.from_json(stored.get("declared")))


def _front_matter(text: str) -> str | SkillProblem:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return SkillProblem(f"The file must begin with a line {_FENCE}, then YAML, then a line {_FENCE}.", line=1)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        return SkillProblem(f"The front matter is not closed: add a second line {_FENCE}.", line=1)
    front = "\n".join(lines[1:end])
    if len(front) > _LONGEST_FRONT:
        return SkillProblem(f"The front matter is longer than {_LONGEST_FRONT:,} characters: shorten it.", line=1)
    return front


def _nodes(front: str) -> dict[str, Any] | SkillProblem:  # Any: a node of PyYAML, which has no types
    """Returns the front matter's fields. The nodes are read as they are written: no value becomes a date, a number or an object, and
    no node becomes text as a whole, which references in it could make endless."""
    import yaml

    try:
        root = yaml.compose(front, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return SkillProblem(f"This is not valid YAML: {error.problem}. Quote a value that contains ': '.", line=line)
    except (yaml.YAMLError, RecursionError, ValueError):
        return SkillProblem("This is not valid YAML, or it is nested too deeply.", line=1)
    if not isinstance(root, yaml.MappingNode):
        return SkillProblem("The front matter must hold fields, as 'name: …' and 'description: …'.", line=1)
    nodes: dict[str, Any] = {}
    for key, node in root.value:
        if not isinstance(key.value, str):
            return SkillProblem("The name of a field must be text.", line=key.start_mark.line + 2)
        if key.value in nodes:
            return SkillProblem(f"'{key.value[:60]}' stands there twice.", line=key.start_mark.line + 2)
        nodes[key.value] = node
    return nodes


def _declared(nodes: Mapping[str, Any]) -> Declared:  # Any: as above
    metadata = _metadata(nodes.get("metadata"))
    tools = tuple(_TOOL.findall(" ".join(_scalars(nodes["allowed-tools"])))) if "allowed-tools" in nodes else ()
    return Declared(tools, _words(metadata, NETWORK_KEY), _words(metadata, PATHS_KEY))


def _metadata(node: Any) -> dict[str, str]:  # Any: as above
    pairs = node.value if node is not None and isinstance(node.value, list) else []
    texts = ((pair[0].value, pair[1].value) for pair in pairs if isinstance(pair, tuple))
    return {name: text for name, text in texts if isinstance(name, str) and isinstance(text, str)}


def _scalars(node: Any) -> Iterator[str]:  # Any: as above
    """The text of a field, or of each item of a list."""
    if isinstance(node.value, str):
        yield node.value
        return
    for item in node.value:
        if not isinstance(item, tuple) and isinstance(item.value, str):
            yield item.value


def _field_faults(folder_name: str, fields: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name, description = fields.get("name", ""), fields.get("description", "")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        yield (
            "name",
            f"'name' must have 1 to {LONGEST_NAME} characters: lower-case letters, digits and single hyphens between them.",
        )
    elif name != folder_name:
        yield "name", f"'name' is '{name}', but the folder is '{folder_name[:60]}': rename one of them."
    if not description:
        yield "description", "'description' is missing: say what the skill does and when to use it."
    elif len(description) > LONGEST_DESCRIPTION:
        yield "description", f"'description' has more than {LONGEST_DESCRIPTION:,} characters: shorten it."
    if len(fields.get("compatibility", "")) > LONGEST_COMPATIBILITY:
        yield "compatibility", f"'compatibility' has more than {LONGEST_COMPATIBILITY} characters: shorten it."


def _need_faults(declared: Declared) -> Iterator[tuple[str, str]]:
    for host in declared.network:
        try:
            read_destination(host)
        except ValueError:
            yield "metadata", f"'{host[:60]}' in {NETWORK_KEY} is not a host: write it as 'api.example.com'."
    for path in declared.paths:
        if ".." in path.split("/"):
            yield "metadata", f"'{path[:60]}' in {PATHS_KEY} leads out of the workspace."


def _words(metadata: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(metadata.get(key, "").replace(",", " ").split())


def _texts(stored: JsonValue) -> tuple[str, ...]:
    return tuple(str(item) for item in stored) if isinstance(stored, list) else ()
