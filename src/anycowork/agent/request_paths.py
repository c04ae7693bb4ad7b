"""Finds the paths that a request names, and parts it into sentences in which signs stand for the paths. Pure."""

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from anycowork.agent.request_classifier import OTHER_PATH, TARGET
from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value

LONGEST_READ = 12_000  # characters of a request: its beginning, and a quarter from its end
MOST_SENTENCES = 200
MOST_PATHS = 5_000
_LONGEST_PATH = 1_000
_AROUND = 400  # characters on each side of a path that tell what is to happen to it
_PASTED = late_pattern(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^[ \t]*>[^\n]*|^[ \t]*File \"[^\n]*|\b[a-z][a-z0-9+.-]{1,20}://\S{1,2000}",
    re.DOTALL | re.M,
)
_ENDINGS = frozenset({
    "adoc", "asm", "astro", "avif", "awk", "bash", "bat", "bib", "bin", "bmp", "c", "cc", "cfg", "class", "clj", "cmake", "cnf", "conf",
    "cpp", "cs", "css", "csv", "cts", "cu", "cxx", "dart", "db", "diff", "doc", "docx", "dot", "ejs", "el", "elm", "env", "erb", "erl",
    "ex", "exs", "f90", "fish", "gif", "go", "gradle", "graphql", "groovy", "gz", "h", "hbs", "hcl", "hpp", "hs", "htm", "html", "ico",
    "ics", "ini", "ipynb", "jar", "java", "jl", "jpeg", "jpg", "js", "json", "json5", "jsonc", "jsonl", "jsx", "kt", "kts", "less",
    "liquid", "lock", "log", "lua", "m", "md", "mdx", "mjs", "mk", "ml", "mp3", "mp4", "mts", "nim", "nix", "nu", "odt", "parquet", "patch",
    "pdf", "php", "pl", "plist", "png", "po", "ppt", "pptx", "prisma", "properties", "proto", "ps1", "psv", "pug", "py", "pyi", "pyx", "r",
    "rb", "rst", "rs", "rtf", "sass", "sbt", "scala", "scm", "scss", "sh", "sln", "sol", "sql", "sqlite", "srt", "styl", "svelte", "svg",
    "swift", "tar", "tcl", "tex", "text", "tf", "toml", "ts", "tsv", "tsx", "txt", "vb", "vim", "vue", "wasm", "wav", "webm", "webp", "xls",
    "xlsx", "xml", "xsd", "xsl", "yaml", "yml", "zig", "zip", "zsh",
})  # fmt: skip
_NAMES = frozenset({
    "Makefile", "Dockerfile", "LICENSE", "LICENCE", "README", "Procfile", "Jenkinsfile", "Gemfile", "Rakefile", "Vagrantfile",
})  # fmt: skip
_PRODUCTS = frozenset({
    "node.js", "vue.js", "next.js", "nuxt.js", "react.js", "express.js", "d3.js", "three.js", "ember.js", "backbone.js", "discord.py",
    "web.py", "asp.net",
})  # fmt: skip
_QUOTED = (
    r"`(?P<q1>[^`\n]{1,300})`|\"(?P<q2>[^\"\n]{1,300})\"|“(?P<q3>[^”\n]{1,300})”|„(?P<q4>[^“”\n]{1,300})[“”]"
    r"|«\s?(?P<q5>[^»\n]{1,300}?)\s?»|(?<!\w)'(?P<q6>[^'\n]{1,300})'(?!\w)"
)
_BARE = r"(?P<bare>(?<![\w/@.~-])(?:\.{1,2}/|~?/)?(?:[\w.+@-]|\\ )++(?:/(?:[\w.+@*-]|\\ )++)*+/?+)"
_CANDIDATE = late_pattern(f"{_QUOTED}|{_BARE}")
_RUNNERS = (
    "pytest|py.test|tox|nox|python3?|uv|poetry|npm|npx|pnpm|yarn|node|deno|bun|make|just|cargo|go|mvn|gradle|ruby|rake|bundle|php|"
    "composer|dotnet|swift|mix|bash|sh|ctest|meson|ruff|mypy|tsc|eslint"
)
_COMMAND = late_pattern(rf"`((?:(?:{_RUNNERS})(?: [^`\n|;&<>$]{{1,200}})?)|(?:\./[^`\n|;&<>$]{{1,200}}))`")
_BARE_COMMAND = late_pattern(
    r"(?<![\w`/.-])(npm test|npm run test|cargo test|go test(?: \./\.\.\.)?|make test|make check|pytest)(?![\w`/.-])"
)
_LIST = late_pattern(
    r"[\s,;&•*–|\d.)\"'`-]*(?:(and|or|nor|und|oder|noch|sowie|et|ou|ni|y|e|o|u)\b)?[\s,;•*–\"'`-]*", re.I
)
_NAMED_BEFORE = late_pattern(
    r"(?:folder|directory|ordner|verzeichnis|dossier|répertoire|carpeta|directorio|file|datei|fichier|archivo|fichero) \Z",
    re.I,
)
_NAMED_BEHIND = late_pattern(r"[ -](?:folder|directory|ordner|verzeichnis)\b", re.I)
_LONGEST_NOUN = 16
_MOST_LOOKED_UP = 100  # names of a request that are looked for in the workspace
_LONGEST_SEPARATOR = 24
_GOES_ON = late_pattern(r"\s*[\w(]")
_SHELL_SIGNS = frozenset(";|&<>$")
_END = late_pattern(r"(?<![.!?…])[.!?…]++(?=\s|$)|\n++")


@value
class PathGroup:
    """Paths that a sentence names side by side, so that it says the same of all of them. Of these, `pointed_at` are written with an @, as
    people name files that are there."""

    paths: tuple[str, ...]
    start: int
    end: int
    pointed_at: tuple[str, ...] = ()


@value
class Sentence:
    """`text` has `OTHER_PATH` where a group of paths stands."""

    text: str
    groups: tuple[PathGroup, ...] = field(default=())

    def around_groups(self) -> Iterator[str]:
        """Yields the text around each group, with `TARGET` where the group stands."""
        start = self.text.find(OTHER_PATH)
        while start >= 0:
            yield f"{self.text[max(0, start - _AROUND) : start]}{TARGET}{self.text[start + 1 : start + 1 + _AROUND]}"
            start = self.text.find(OTHER_PATH, start + 1)


def _nothing_exists(name: str) -> bool:
    return False


def sentences_of(request: str, existed: Callable[[str], bool] = _nothing_exists) -> list[Sentence]:
    """Parts the request into sentences. Pasted code, quotations and addresses are left out. A name that does not look like a path is one if
    `existed` says that something has it."""
    text = _PASTED.sub(" ", _ends_of(request)).replace(TARGET, " ").replace(OTHER_PATH, " ")
    groups = _groups(text, list(_named(text, existed)))
    masked, position = [], 0
    for group in groups:
        masked += [text[position : group.start], OTHER_PATH]
        position = group.end
    masked.append(text[position:])
    sentences = _split("".join(masked), groups)
    half = MOST_SENTENCES // 2
    return sentences if len(sentences) <= MOST_SENTENCES else [*sentences[:half], *sentences[-half:]]


def paths_in(request: str) -> list[str]:
    """Returns the paths that the request names, each once."""
    groups = (group for sentence in sentences_of(request) for group in sentence.groups)
    return list(dict.fromkeys(path for group in groups for path in group.paths))


def _ends_of(request: str) -> str:
    """Returns what is read of a request: people write what they want before or after what they paste."""
    if len(request) <= LONGEST_READ:
        return request
    return f"{request[: LONGEST_READ * 3 // 4]}\n\n{request[-LONGEST_READ // 4 :]}"


def commands_in(request: str) -> list[str]:
    """Returns the commands that the request names: those in backquotes, or else the usual ways to run a project's tests."""
    text = _ends_of(request)
    quoted = [match[1].strip() for match in _COMMAND.finditer(text)]
    return list(dict.fromkeys(quoted or [match[1] for match in _BARE_COMMAND.finditer(text)]))


def paths_in_commands(request: str) -> list[str]:
    """Returns what looks like a path in the commands that the request names, each once: the tests that they run, for example."""
    words = (word.partition("::")[0] for command in commands_in(request) for word in command.split())
    return list(dict.fromkeys(plain_path(word) for word in words if is_path(word)))


def _split(masked: str, groups: list[PathGroup]) -> list[Sentence]:
    sentences: list[Sentence] = []
    begin, used = 0, 0
    for end in [*(_END.finditer(masked)), None]:
        piece = masked[begin : end.end() if end else len(masked)]
        if end is not None and end[0].startswith("\n") and piece.rstrip()[-1:] in (":", ","):
            continue  # a list follows that belongs to it
        begin = end.end() if end else len(masked)
        count = piece.count(OTHER_PATH)
        if piece.strip():
            sentences.append(Sentence(piece.strip(), tuple(groups[used : used + count])))
        used += count
    return sentences


def _groups(text: str, single_groups: list[PathGroup]) -> list[PathGroup]:
    """Joins paths that stand side by side. Two with nothing but a comma between them are joined only where the clause ends behind them."""
    joined: list[PathGroup] = []
    index = 0
    while index < len(single_groups):
        chain, conjunction = [single_groups[index]], False
        while index + len(chain) < len(single_groups):
            following = single_groups[index + len(chain)]
            between = text[chain[-1].end : following.start]
            separator = _LIST.fullmatch(between) if len(between) <= _LONGEST_SEPARATOR else None
            if separator is None or "\n\n" in between or not between:
                break
            chain.append(following)
            conjunction = conjunction or separator[1] is not None or "\n" in between
        loose = len(chain) == 2 and not conjunction and _GOES_ON.match(text, chain[-1].end) is not None
        chain = chain[:1] if loose else chain
        joined.append(chain[0] if len(chain) == 1 else _joined(chain))
        index += len(chain)
    return joined


def _joined(chain: list[PathGroup]) -> PathGroup:
    paths = tuple(path for group in chain for path in group.paths)
    pointed_at = tuple(path for group in chain for path in group.pointed_at)
    return PathGroup(paths, chain[0].start, chain[-1].end, pointed_at)


def _named(text: str, existed: Callable[[str], bool]) -> Iterator[PathGroup]:
    count = looked_up = 0
    for match in _CANDIDATE.finditer(text):
        candidate = match[0]
        quoted = match.lastgroup != "bare"
        if not quoted and _is_word(candidate) and not _is_called_a_folder(text, match.start(), match.end()):
            continue  # an ordinary word, as most are
        raw = next(part for part in match.groupdict().values() if part is not None)
        name = raw.strip() if quoted else raw.replace("\\ ", " ").rstrip(".,;:!?)-*")
        is_pointed_at, name = name.startswith("@"), name.removeprefix("@")
        end = match.end() if quoted else match.start() + len(raw.rstrip(".,;:!?)-*"))
        if not name or len(name) > _LONGEST_PATH or text[end : end + 1] == "(":
            continue
        if not is_path(name, quoted=quoted):
            if not quoted and _is_word(name) and not _is_called_a_folder(text, match.start(), end):
                continue  # an ordinary word that ends a sentence
            looked_up += 1
            if looked_up > _MOST_LOOKED_UP or not _may_exist(name) or not existed(plain_path(name)):
                continue
        paths = (plain_path(name),)
        yield PathGroup(paths, match.start(), end, paths if is_pointed_at else ())
        count += 1
        if count == MOST_PATHS:
            return


def _is_word(name: str) -> bool:
    return not {".", "/"} & set(name) and name.lstrip("@") not in _NAMES


def _is_called_a_folder(text: str, start: int, end: int) -> bool:
    """Tells whether the text calls the word between `start` and `end` a folder or file: `the vendor folder`, `im Ordner vendor`."""
    return bool(
        _NAMED_BEHIND.match(text, end, end + _LONGEST_NOUN)
        or _NAMED_BEFORE.search(text, max(0, start - _LONGEST_NOUN), start)
    )


def _may_exist(name: str) -> bool:
    """Tells whether it may be the name of something in the workspace: an address, a path outside and words without a letter are not."""
    return "://" not in name and not name.startswith(("/", "~", "../", "-")) and any(sign.isalpha() for sign in name)


def is_path(name: str, *, quoted: bool = False) -> bool:
    """Whether this looks like a path: by its ending, a slash at its end, or a name that only files have."""
    last = name.rstrip("/").rpartition("/")[2]
    stem, dot, ending = last.rpartition(".")
    if name.lower() in _PRODUCTS or last in ("", ".", "..") or (" " in name and not quoted) or "://" in name:
        return False
    if quoted and (_SHELL_SIGNS & set(name) or ": " in name or (" " in name and _COMMAND.fullmatch(f"`{name}`"))):
        return False
    if last in _NAMES or (name.endswith("/") and len(name) > 1):
        return True
    if dot and not stem:
        return len(ending) > 2 and ending.isalnum() and ending.islower() and ending != "net"
    return bool(dot) and ending.lower() in _ENDINGS and any(sign.isalnum() for sign in stem)


def plain_path(name: str) -> str:
    return name.removeprefix("./").strip()
