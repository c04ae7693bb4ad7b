"""Loads settings: flags override the environment, which overrides config.toml, which overrides the defaults. Also writes that file.

`settings.py` defines the settings.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import tomli_w
from pydantic import JsonValue, ValidationError

from anycowork.config.errors import closest_name, line_of
from anycowork.config.secure_files import write_private_file
from anycowork.config.settings import (
    FOLDER_LISTS,
    KNOBS,
    PATHS,
    WORD_LISTS,
    BadSettings,
    Settings,
    default_data_dir,
    describe_fault,
    require_changeable,
)

CONFIG_FILE = "config.toml"
ENVIRONMENT_PREFIX = "ANYCOWORK_"

_ONLY_IN_THE_FILE = (
    "providers",
    "mcp_modules",
    "notifications",
    "openid",
)  # structured; too powerful for a variable that a folder may set
_NOT_IN_THE_FILE = ("data_dir",)  # the file is inside it


def load_settings(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path) -> Settings:
    """Returns the settings in force. A flag that is None was not given. Raises: BadSettings."""
    from_flags = {name: value for name, value in flags.items() if value is not None}
    from_environment = _from_environment(environ)
    data_dir = _absolute(from_flags.get("data_dir") or from_environment.get("data_dir") or default_data_dir(), cwd)
    filed = {name: value for name, value in read_config(data_dir).items() if name in KNOBS}
    chosen = {**_with_paths(filed, data_dir), **_with_paths(from_environment, cwd), **_with_paths(from_flags, cwd)}
    try:
        return Settings.model_validate({**chosen, "data_dir": data_dir})
    except ValidationError as error:
        sources = {
            **dict.fromkeys(filed, str(data_dir / CONFIG_FILE)),
            **_environment_names(from_environment),
            **_flag_names(from_flags),
        }
        raise describe_fault(error, sources, data_dir / CONFIG_FILE) from None


def save_settings(data_dir: Path, changes: Mapping[str, JsonValue]) -> None:
    """Writes these changes to config.toml; None resets a setting to its default. Other keys in the file stay.

    Raises: BadSettings for a setting that may not be changed or has an invalid value; StorageFault.
    """
    require_changeable(changes)
    remaining = {name: value for name, value in read_config(data_dir).items() if name not in changes}
    write_private_file(data_dir / CONFIG_FILE, tomli_w.dumps({**remaining, **_fitting(changes)}).encode())


def read_config(data_dir: Path) -> dict[str, object]:
    """Returns the content of config.toml, unchecked; empty if there is none. Raises: BadSettings if it cannot be read."""
    path = data_dir / CONFIG_FILE
    try:
        config: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadSettings(
            f"{path}, line {line}, is not text in UTF-8. Fix that line, or move the file away."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path} is not valid TOML: {error}. Fix that line, or move the file away.") from error
    except OSError as error:
        raise BadSettings(
            f"{path} cannot be read ({error.strerror}). Change its owner, or choose another --data-dir."
        ) from error
    if misplaced := [name for name in _NOT_IN_THE_FILE if name in config]:
        raise BadSettings(f"{path}: '{misplaced[0]}' cannot be set in this file; use --data-dir or ANYCOWORK_DATA_DIR.")
    return config


def unknown_keys(data_dir: Path) -> list[str]:
    """Returns keys in config.toml that this version does not know: a typo, or another version's."""
    return sorted(read_config(data_dir).keys() - KNOBS.keys())


def unused_variables(data_dir: Path, environ: Mapping[str, str]) -> list[str]:
    """Returns sentences about ineffective settings: an unknown key of config.toml, or a variable that nearly names one."""
    path = data_dir / CONFIG_FILE
    sentences = []
    for key in unknown_keys(data_dir):
        line, near = line_of(path.read_text(encoding="utf-8"), (key,)), closest_name(key, KNOBS)
        hint = f" Did you mean '{near}'?" if near else ""
        sentences.append(f"{path}, line {line}: '{key}' is not a setting, so it has no effect.{hint}")
    variables = [ENVIRONMENT_PREFIX + name.upper() for name in KNOBS]
    for name in sorted(environ.keys() - set(variables)):
        if name.startswith(ENVIRONMENT_PREFIX) and (near := closest_name(name, variables)):
            sentences.append(f"The variable {name} is not a setting, so it has no effect. Did you mean {near}?")
    return sentences


def _fitting(changes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    values = {name: value for name, value in changes.items() if value is not None}
    try:
        checked = Settings.model_validate(values)
    except ValidationError as error:
        raise describe_fault(error, {}) from None
    return checked.model_dump(mode="json", include=set(values), exclude_none=True)


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    # An empty variable counts as unset, as people expect of `ANYCOWORK_MODEL= anycowork`.
    values: dict[str, object] = {}
    for name in KNOBS.keys() - set(_ONLY_IN_THE_FILE):
        if text := environ.get(ENVIRONMENT_PREFIX + name.upper(), "").strip():
            values[name] = _words(text) if name in WORD_LISTS else _folders(text) if name in FOLDER_LISTS else text
    return values


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _folders(text: str) -> list[str]:
    return [folder for part in text.split(",") if (folder := part.strip())]


def _with_paths(values: Mapping[str, object], base: Path) -> dict[str, object]:
    return {name: _absolute(value, base) if name in PATHS else value for name, value in values.items()}


def _absolute(value: object, base: Path) -> Path:
    try:
        return (base / Path(str(value)).expanduser()).resolve()
    except RuntimeError:
        raise BadSettings(
            f"'{value}' begins with a home folder that is not known here. Write the whole path."
        ) from None


def _environment_names(names: Mapping[str, object]) -> dict[str, str]:
    return {name: ENVIRONMENT_PREFIX + name.upper() for name in names}


def _flag_names(names: Mapping[str, object]) -> dict[str, str]:
    return {name: "--" + name.replace("_", "-") for name in names}
