"""Recognises files with keys or passwords by their names alone. Reading them asks a person first. Pure, in linear time."""

from functools import lru_cache

# `prod.env`, `.env.local` and `app.env.production` hold values; `.env.example` and `sample.env` show which ones there are.
_ENVIRONMENT, _EXAMPLES = ".env", frozenset({"example", "sample", "template", "dist"})
_ENVIRONMENTS = frozenset(
    {
        "local",
        "dev",
        "development",
        "test",
        "stage",
        "staging",
        "prod",
        "production",
        "live",
        "bak",
        "backup",
        "old",
        "orig",
    }
)
# fmt: off
_FILES = frozenset({
    ".netrc", ".pgpass", ".git-credentials", ".pypirc", ".htpasswd",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
})
# fmt: on
_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx")
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg"})
_WORDS = ("secret", "credential", "token", ".pem", ".key")

# The same names as patterns with `*`, to check whether a pattern could match one of them.
KEY_FILE_PATTERNS = (
    ".env*",
    "*.env",
    *(f"*.env.{name}" for name in sorted(_ENVIRONMENTS)),
    *sorted(_FILES),
    *(f"*{ending}" for ending in _ENDINGS),
)
KEY_FOLDERS = tuple(sorted(_FOLDERS))


def is_key_file(path: str) -> bool:
    """Whether the file's name means keys or passwords: narrower than `looks_secret`, because it makes reading ask."""
    *folders, name = path.casefold().rstrip("/").split("/")
    return not _FOLDERS.isdisjoint(folders) or name_is_key_file(name)


def name_is_key_file(name: str) -> bool:
    """The same for a file's own name, which holds no slash: a command's start asks for every name in the workspace."""
    name = name.casefold()
    if _ENVIRONMENT in name:
        return _is_environment(name)
    return name in _FILES or (name.endswith(_ENDINGS) and not name.startswith(_ENDINGS))


def _is_environment(name: str) -> bool:
    first, *others = name.split(".")
    if first in _EXAMPLES or others[-1] in _EXAMPLES:
        return False
    if name.startswith(_ENVIRONMENT) or others[-1] == "env":
        return True
    return others[-2:-1] == ["env"] and others[-1] in _ENVIRONMENTS


def looks_secret(path: str) -> bool:
    """Whether any part of the path looks like the name of a secret."""
    folder, _, name = path.rpartition("/")
    return name_looks_secret(name) or (folder != "" and folder_looks_secret(folder))


@lru_cache(maxsize=1 << 15)
def name_looks_secret(name: str) -> bool:
    """Cached: several steps of a commit ask for each of thousands of names."""
    return _part_looks_secret(name.casefold())


@lru_cache(maxsize=1024)
def folder_looks_secret(folder: str) -> bool:
    """Cached: a command that changes thousands of files changes many in each folder."""
    return any(map(_part_looks_secret, folder.casefold().split("/")))


def _part_looks_secret(part: str) -> bool:
    if part in _FILES or part in _FOLDERS or part.startswith(_ENVIRONMENT):
        return True
    if _ENVIRONMENT in part and _is_environment(part):
        return True
    if part.startswith("id_") and len(part) > 3 and part[3:].isalnum():
        return True
    return any(map(part.__contains__, _WORDS))
