"""Estimates the risk of a command from its words. Pure, word by word: no pattern is matched against the whole text.

Only labels and questions depend on the result. The sandbox, not this module, limits what a command can do.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from anycowork.domain.path_class import KEY_FILE_PATTERNS, KEY_FOLDERS, is_control_file, looks_secret
from anycowork.permissions.shell.parsed_command import CommandPart, ParsedCommand

MAY_USE_NETWORK = "It may use the network."
NAMES_CONTROL_FILE = "It names a file that controls tools, editors or agents."
# fmt: off
_READS = frozenset({
    "ls", "cat", "head", "tail", "wc", "pwd", "echo", "printf", "stat", "file", "du", "df", "date", "whoami", "id", "uname",
    "which", "type", "true", "false", "test", "[", "basename", "dirname", "realpath", "readlink", "sort", "cut", "tr", "nl",
    "grep", "egrep", "fgrep", "rg", "diff", "cmp", "md5sum", "sha1sum", "sha256sum", "tree", "column", "comm", "seq", "sleep",
    "find", "cd", ":", "less", "more", "od", "xxd", "strings", "nproc", "tac", "rev", "fold",
})
_GIT_READS = frozenset({"status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "describe", "shortlog"})
_WRITING_OPTIONS = ("-o", "--output", "-delete", "-exec", "-ok", "-fprint", "-fls", "--pre", "--ext-diff", "--textconv")
_MORE_RIGHTS = frozenset({"sudo", "su", "doas", "pkexec", "runuser", "chown", "chgrp", "setcap", "setpriv", "mount", "umount"})
_NETWORK = frozenset({
    "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp", "apt", "apt-get", "dnf", "yum",
    "apk", "brew", "gh", "aws", "gcloud",
})
# Programs that use the network only with some subcommands: `npm test` runs tests, `npm install` loads packages.
_NETWORK_VERBS = {
    "git": frozenset({"push", "pull", "fetch", "clone", "ls-remote", "remote", "submodule"}),
    "npm": frozenset({"install", "i", "ci", "add", "update", "publish", "audit", "exec", "create", "init"}),
    "pnpm": frozenset({"install", "i", "add", "update", "publish", "dlx"}),
    "yarn": frozenset({"install", "add", "upgrade", "publish", "dlx"}),
    "pip": frozenset({"install", "download", "wheel", "index"}),
    "pip3": frozenset({"install", "download", "wheel", "index"}),
    "uv": frozenset({"add", "sync", "pip", "lock", "tool", "publish", "python"}),
    "cargo": frozenset({"install", "add", "fetch", "publish", "update", "search"}),
    "go": frozenset({"get", "install", "mod"}),
    "docker": frozenset({"pull", "push", "login", "run", "build"}),
}
# Subcommands that delete or rewrite data in .git, which no checkpoint covers.
_GIT_LOSES = frozenset({
    "reset", "clean", "gc", "prune", "reflog", "rebase", "filter-branch", "update-ref", "stash", "replace",
})
_LOSES = frozenset({"mkfs", "fdisk", "parted", "wipefs"})
_DELETES = frozenset({"rm", "rmdir", "unlink", "shred", "dd", "truncate"})
# Programs that never print the content of a file.
_BLIND = frozenset({
    "ls", "rm", "rmdir", "mkdir", "touch", "chmod", "echo", "printf", "stat", "test", "[", "basename", "dirname", "cd", "pwd",
    "du", "true", "false", "export", "set", "unset",
})
_SEARCH_EVERYTHING = frozenset({"rg", "ag", "ack", "tar", "zip", "rgrep"})
_INLINE_CODE = {
    **dict.fromkeys(("python", "python3", "bash", "sh"), ("-c",)),
    **dict.fromkeys(("node", "perl", "ruby", "php", "deno", "bun"), ("-e", "-E", "-r", "-p", "--eval", "--print", "eval")),
}
_SYSTEM = ("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero", "/dev/urandom", "/tmp", "/usr", "/bin", "/lib")
# fmt: on
_LONGEST_GLOB = 200
_BRACES, _BRACKETS = re.compile(r"\{[^{}]{0,200}\}"), re.compile(r"\[[^\]]{0,200}\]?")
_KEY_NAMES = tuple(name for name in KEY_FILE_PATTERNS if not name.startswith("*"))
_KEY_ENDINGS = tuple(name.removeprefix("*.") for name in KEY_FILE_PATTERNS if name.startswith("*."))


def only_reads(command: ParsedCommand) -> bool:
    """Whether every command in it is known to only read."""
    parts = list(_all_parts(command))
    return command.unanalyzable is None and not command.writes and bool(parts) and all(map(_reads, parts))


def high_risks(command: ParsedCommand, root: str) -> Iterator[str]:
    """Yields a sentence for each reason why the command is risky, with or without a sandbox."""
    parts, all_words = list(_all_parts(command)), words_of(command)
    names = {PurePosixPath(part.name).name for part in parts}
    if command.unanalyzable is not None:  # any word may be a program
        names |= {PurePosixPath(word).name for word in command.raw}
    if not names.isdisjoint(_MORE_RIGHTS):
        yield "It asks for more rights (sudo or the like)."
    if not names.isdisjoint(_LOSES) or any(map(_loses, parts)) or (names & _DELETES and any(map(_in_git, all_words))):
        yield "It may delete data that no checkpoint covers."
    if not names.isdisjoint(_NETWORK) or any(map(_uses_network, parts)):
        yield MAY_USE_NETWORK
    if any(looks_secret(word) for word in all_words):
        yield "It names something that looks like a secret."
    paths = (*command.writes, *command.reads, *(word for part in parts for word in part.argv[1:]))
    if any(_outside(piece, root) for path in paths for piece in (path, path.rpartition("=")[2])):
        yield "It names a path outside the workspace."
    changed = [word for part in parts if not _reads(part) for word in part.argv[1:]]
    if any(map(is_control_file, (*changed, *command.writes))):
        yield NAMES_CONTROL_FILE


def deletes(command: ParsedCommand) -> bool:
    return any(PurePosixPath(part.name).name in _DELETES for part in _all_parts(command))


def may_reach_secrets(command: ParsedCommand) -> bool:
    """Whether the command names a secret, or has words that are known only when it runs and so could name one."""
    if command.unanalyzable is not None or any(map(looks_secret, words_of(command))):
        return True
    return any(map(_part_may_reach, _all_parts(command))) or any(
        _unresolved(word) for word in (*command.reads, *command.writes)
    )


def command_names_secrets(command: ParsedCommand) -> bool:
    """Whether one of its words looks like a secret, or is a pattern that is meant for key files: `.en?` is, `*` and `a*` are not."""
    return any(looks_secret(word) or _aims_at_key_file(word) for word in words_of(command))


def _aims_at_key_file(word: str) -> bool:
    if not any(sign in word for sign in "*?[{"):
        return False
    return any(map(_part_aims_at_key_file, _BRACES.sub("*", word).casefold().split("/")))


def _part_aims_at_key_file(glob: str) -> bool:
    literal = _BRACKETS.sub("", glob)
    if len(glob) > _LONGEST_GLOB or not any(sign.isalnum() for sign in literal):
        return False  # it means everything, and the sandbox covers the key files in it
    ending = glob.rpartition(".")[2]
    return any(_may_mean(glob, key) for key in (*KEY_FOLDERS, *_KEY_NAMES)) or (
        ending != glob
        and any(map(str.isalnum, _BRACKETS.sub("", ending)))
        and any(_may_mean(ending, key) for key in _KEY_ENDINGS)
    )


def _part_may_reach(part: CommandPart) -> bool:
    name, arguments = PurePosixPath(part.name).name, part.argv[1:]
    if part.certain_count == 0 or _unresolved(part.name):
        return True
    if any(option in arguments for option in _INLINE_CODE.get(name, ())):
        return True
    if name in _SEARCH_EVERYTHING or (name == "git" and "grep" in arguments):
        return True
    if name in ("grep", "egrep", "fgrep", "diff", "cp") and any(map(_goes_down, arguments)):
        return True
    return name not in _BLIND and any(map(_unresolved, arguments[max(0, part.certain_count - 1) :]))


def _goes_down(word: str) -> bool:
    """`-r`, `-Rn`, `-a`, `--recursive`, `--directories=recurse`."""
    if word.startswith("--"):
        return word.startswith(("--r", "--dir", "--a"))
    return word.startswith("-") and any(letter in word for letter in "rRad")


def _unresolved(word: str) -> bool:
    """A variable, a substitution, a placeholder, or a pattern that could mean a key file."""
    if any(sign in word for sign in ("$", "`", "{}", "…", "~", "<(", ">(")):
        return True
    if not any(sign in word for sign in "*?[{"):
        return False
    *folders, name = word.casefold().split("/")
    return any(_may_mean(name, key) for key in KEY_FILE_PATTERNS) or any(
        _may_mean(folder, key) for folder in (*folders, name) for key in KEY_FOLDERS
    )


def _may_mean(glob: str, names: str) -> bool:
    """Whether some name matches both patterns. Brackets and braces count as `*`; a first wildcard matches no leading dot."""
    if len(glob) > _LONGEST_GLOB or any(sign in glob for sign in "{\\+!@"):
        return True
    if names.startswith(".") and glob.startswith(("*", "?", "[")):
        return False
    return _overlap(_without_brackets(glob), names)


def _without_brackets(glob: str) -> str:
    cut: list[str] = []
    inside = False
    for character in glob:
        if character == "[":
            inside = True
            cut.append("*")
        elif not inside:
            cut.append(character)
        elif character == "]":
            inside = False
    return "".join(cut)


def _overlap(first: str, second: str) -> bool:
    """Whether two patterns with `*` and `?` match a common name: walks through both at once and visits each pair of positions once."""
    positions = {0}
    for sign in [*first, ""]:
        positions = _with_skipped(positions, second)
        if sign == "":
            return len(second) in positions
        if sign == "*":
            positions = set(range(min(positions), len(second) + 1)) if positions else positions
            continue
        positions = {
            position if second[position] == "*" else position + 1
            for position in positions
            if position < len(second) and (second[position] in "*?" or sign in ("?", second[position]))
        }
    return False


def _with_skipped(positions: set[int], pattern: str) -> set[int]:
    with_skipped = set(positions)
    for position in positions:
        while position < len(pattern) and pattern[position] == "*":
            position += 1
            with_skipped.add(position)
    return with_skipped


def _all_parts(command: ParsedCommand) -> Iterator[CommandPart]:
    for part in command.parts:
        yield from part.all()


def words_of(command: ParsedCommand) -> Sequence[str]:
    """Returns each word as written, and its parts after `=`, `:` and `@`, where a path may be."""
    written = (
        *command.raw,
        *command.reads,
        *command.writes,
        *(word for part in _all_parts(command) for word in part.argv),
    )
    pieces = (piece for word in written for piece in word.replace(":", "=").replace("@", "=").split("="))
    return tuple(dict.fromkeys((*written, *pieces)))


def _reads(part: CommandPart) -> bool:
    name, arguments = PurePosixPath(part.name).name, part.argv[1:]
    if any(word.startswith(_WRITING_OPTIONS) for word in arguments) and name not in ("ls", "grep", "echo", "printf"):
        return False
    if name == "git":
        return _verb(part) in _GIT_READS
    return name in _READS


def _verb(part: CommandPart) -> str:
    """Returns the first word that is not an option. Git's `-C folder` and `-c setting` take one more word."""
    arguments = iter(part.argv[1:])
    for word in arguments:
        if word in ("-C", "-c"):
            next(arguments, None)
        elif not word.startswith("-"):
            return word
    return ""


def _uses_network(part: CommandPart) -> bool:
    return _verb(part) in _NETWORK_VERBS.get(PurePosixPath(part.name).name, ())


def _loses(part: CommandPart) -> bool:
    if PurePosixPath(part.name).name != "git":
        return False
    verb = _verb(part)
    return verb in _GIT_LOSES or (verb in ("branch", "tag") and not {"-d", "-D", "--delete"}.isdisjoint(part.argv))


def _in_git(word: str) -> bool:
    return ".git" in word.casefold().split("/")


def _outside(word: str, root: str) -> bool:
    if word.startswith("~"):
        return True
    parts = word.split("/")
    if ".." in parts:
        return True
    if not word.startswith("/") or len(parts) < 2 or not parts[1]:
        return False
    return not any(
        word == allowed_root or word.startswith(f"{allowed_root}/")
        for allowed_root in (*_SYSTEM, *([root] if root else []))
    )
