"""Agent Plugins: folders that bring skills, commands, hooks and more, and marketplaces that list them. Reads text, no files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from pydantic import ConfigDict, Field, JsonValue

from anycowork.domain.boundary import Boundary
from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.values import value

MANIFESTS = (
    ".claude-plugin/plugin.json",
    "plugin.json",
    ".plugin/plugin.json",
    ".codex-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
)
MARKETPLACES = (
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    "marketplace.json",
)
LARGEST_MANIFEST, LARGEST_MARKETPLACE = 64 * 1024, 1_000_000  # bytes
MOST_LISTED = 2_000
LONGEST_PLUGIN_NAME, _LONGEST_WORDS = 64, 500
SCHEMAS = "https://agent-plugins.org/schemas/"
_OUR_SCHEMAS = tuple(f"{SCHEMAS}{version}/plugin.schema.json" for version in ("1.0.0", "1.1.0"))
_NAME = re.compile(r"[a-z0-9]++(?:[-.][a-z0-9]++)*+")
_COMMAND = re.compile(r"[a-z0-9]++(?:[-_.][a-z0-9]++)*+")
# What a plugin may bring besides, where it stands, and why it is not imported.
AGENTS_REASON = (
    "Agents are not imported: their text would speak to a model as a role of ours. Write a role, or a skill."
)
SERVERS_REASON = "MCP servers are not added or started by an import: look at each, then add it yourself."
_UNUSED = {
    "lspServers": ((".lsp.json",), "Language servers of this machine are used as they are installed."),
    "outputStyles": (("output-styles",), "There are no output styles; a role says how an agent writes."),
    "rules": (("rules",), "Rules of editors are instructions that nobody activated: put them into a skill."),
    "themes": (("themes",), "There are no themes."),
    "monitors": (("monitors",), "Nothing of a plugin runs in the background."),
    "bin": (("bin",), "No program of a plugin is found by commands."),
    "settings": (("settings.json",), "Settings are changed by a person alone."),
    "userConfig": ((), "Nothing asks for a plugin's own settings."),
    "channels": ((), "Nothing sends messages into a chat unasked."),
    "dependencies": ((), "No plugin brings another one: add it yourself."),
    "apps": ((".app.json",), "Apps of other products are not connected."),
}
UNUSED_LOCATIONS = tuple(path for paths, _ in _UNUSED.values() for path in paths)


class LeftOut(Boundary):
    """Something that a plugin brings and that is not imported."""

    what: str
    reason: str


class PluginPart(Boundary):
    """An agent or an MCP server of a plugin: listed, never imported."""

    name: str
    about: str = ""


class ImportedPlugin(Boundary):
    """What is stored of a plugin beside what was copied. `source` is the folder or address that it came from."""

    model_config = ConfigDict(extra="ignore")

    name: str
    version: str = ""
    description: str = ""
    source: str = ""
    marketplace: str = ""
    agents: list[PluginPart] = Field(default_factory=list)
    mcp_servers: list[PluginPart] = Field(default_factory=list)
    not_imported: list[LeftOut] = Field(default_factory=list)


@value
class PluginManifest:
    """What a `plugin.json` or the entry of a marketplace says. `fields` are those that name parts of the plugin."""

    name: str
    version: str = ""
    description: str = ""
    fields: Mapping[str, JsonValue] = field(default_factory=dict)
    is_whole: bool = False
    """Only what `fields` names is the plugin; its usual folders are not looked at."""


@value
class ListedPlugin:
    """A plugin as a marketplace lists it. `folder` is below the marketplace's; None if it lies elsewhere or cannot be used."""

    manifest: PluginManifest
    source: str
    folder: str | None = None
    problem: str = ""


def read_manifest(text: str, path: str) -> PluginManifest:
    """Reads a `plugin.json`. Raises: Invalid."""
    fields = _object(text, path)
    schema = fields.get("$schema")
    if isinstance(schema, str) and schema.startswith(SCHEMAS) and schema not in _OUR_SCHEMAS:
        raise Invalid(f"{path} is of a version of Agent Plugins that is not known here: {_text(schema)}.", param="path")
    return _manifest(fields, path)


def read_marketplace(text: str, path: str) -> tuple[str, list[ListedPlugin]]:
    """Returns the name of a marketplace, and what it lists. Raises: Invalid."""
    fields = _object(text, path)
    entries, metadata = fields.get("plugins"), fields.get("metadata")
    if not isinstance(entries, list):
        raise Invalid(f"{path} has no list 'plugins'.", param="path")
    if len(entries) > MOST_LISTED:
        raise Invalid(f"{path} lists more than {MOST_LISTED:,} plugins.", param="path")
    root = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    return _text(fields.get("name")), [_listed(entry, root, path) for entry in entries]


def with_entry(manifest: PluginManifest, entry: PluginManifest) -> PluginManifest:
    """Returns a plugin as the marketplace that lists it describes it: what its entry names holds instead."""
    return PluginManifest(
        entry.name,
        entry.version or manifest.version,
        entry.description or manifest.description,
        {**manifest.fields, **entry.fields},
        is_whole=entry.is_whole,
    )


def paths_of(manifest: PluginManifest, key: str, usual: str, unusable: list[str]) -> list[str]:
    """Returns the paths below the plugin where parts of this kind lie; adds those that lead out to `unusable`."""
    stated = manifest.fields.get(key)
    listed = stated if isinstance(stated, list) else [stated]
    texts = [path for path in listed if isinstance(path, str)]
    paths = [inner_path(path) for path in texts]
    unusable += [_text(text) for text, path in zip(texts, paths, strict=True) if not path]
    return list(dict.fromkeys([*([] if manifest.is_whole else [usual]), *filter(None, paths)]))


def inner_path(text: JsonValue) -> str | None:
    """Returns a path below a plugin's folder as it is opened, empty for the folder itself; None if it is none or may lead out."""
    if (
        not isinstance(text, str)
        or not text.isprintable()
        or "\\" in text
        or text.startswith(("/", "~"))
        or ":" in text
    ):
        return None
    parts = [part for part in text.split("/") if part not in ("", ".")]
    return None if ".." in parts or len(text) > _LONGEST_WORDS else "/".join(parts)


def command_name(path: str) -> str | None:
    """Returns the name of a command from its file below `commands`; None if it is no usable name."""
    parts = path.removesuffix(".md").lower().split("/")
    usable = all(_COMMAND.fullmatch(part) for part in parts)
    return ":".join(parts) if usable and len(path) <= LONGEST_PLUGIN_NAME else None


def hooks_of(stated: Iterable[JsonValue]) -> Json:
    """Returns one `hooks.json` of several, each with or without the key `hooks`."""
    together: dict[str, JsonValue] = {}
    for part in stated:
        events = part.get("hooks", part) if isinstance(part, dict) else None
        for name, groups in events.items() if isinstance(events, dict) else ():
            before = together.get(name, [])
            if isinstance(before, list) and isinstance(groups, list):
                together[name] = [*before, *groups]
    return {"hooks": together} if together else {}


def unused_parts(manifest: PluginManifest, has: Iterable[str]) -> Iterator[LeftOut]:
    """Yields what no product part of ours stands for; `has` are the locations of these that the folder has."""
    locations = {*has}
    for name, (paths, reason) in _UNUSED.items():
        if name in manifest.fields or locations.intersection(paths):
            yield LeftOut(what=name, reason=reason)


def plain_words(text: JsonValue) -> str:
    """Returns text of a plugin as it is listed: on one line, printable, and not long."""
    return _text(text)


def as_text(content: Json) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _object(text: str, path: str) -> dict[str, JsonValue]:
    try:
        content = read_json(text)
    except ValueError as error:
        raise Invalid(f"{path} is not JSON that can be read: {str(error)[:200]}.", param="path") from None
    if not isinstance(content, dict):
        raise Invalid(f"{path} must hold an object.", param="path")
    return content


def _manifest(fields: Mapping[str, JsonValue], path: str) -> PluginManifest:
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > LONGEST_PLUGIN_NAME:
        raise Invalid(
            f"The plugin's name in {path} must have 1 to {LONGEST_PLUGIN_NAME} lower-case letters and digits, "
            f"with single hyphens or dots between them, and is '{_text(name)[:80]}'.",
            param="path",
        )
    parts = {key: fields[key] for key in (*_PARTS, *_UNUSED) if fields.get(key)}
    is_whole = fields.get("strict") is False and any(key in parts for key in _PARTS)
    return PluginManifest(name, _text(fields.get("version")), _text(fields.get("description")), parts, is_whole)


_PARTS = ("skills", "commands", "agents", "hooks", "mcpServers")


def _listed(entry: JsonValue, root: JsonValue, path: str) -> ListedPlugin:
    fields = entry if isinstance(entry, dict) else {}
    source, folder = _source(fields.get("source"), root)
    try:
        manifest = _manifest(fields, path)
    except Invalid as error:
        return ListedPlugin(PluginManifest(_text(fields.get("name"))), source, problem=error.message)
    if folder is None:
        problem = "It does not lie beside the marketplace: download or clone it, look at it, then add its folder."
        return ListedPlugin(manifest, source, problem=problem)
    return ListedPlugin(manifest, source, folder)


def _source(stated: JsonValue, root: JsonValue) -> tuple[str, str | None]:
    """Returns where a plugin is from, as it is listed, and its folder below the marketplace if it lies there."""
    if isinstance(stated, dict):
        kind = _text(stated.get("source"))
        if kind == "local":
            return _source(stated.get("path"), root)
        address = next((_text(stated[key]) for key in ("repo", "url", "package") if stated.get(key)), "")
        return f"{kind}: {address}", None
    below = inner_path(stated)
    beside = inner_path(root) if isinstance(root, str) and isinstance(stated, str) and stated != "./" else ""
    if below is None or beside is None:
        return _text(stated), None
    is_below = not beside or below == beside or below.startswith(f"{beside}/")
    return below or ".", below if is_below else "/".join(filter(None, (beside, below)))


def _text(stated: JsonValue) -> str:
    text = stated if isinstance(stated, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * _LONGEST_WORDS]).split())[:_LONGEST_WORDS]
