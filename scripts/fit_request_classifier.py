"""Fits the weights of `agent/request_classifier.py` from its training sentences, and prints the score on sentences it never saw.

`--check` only prints the score of the stored weights, `--quiet` without the sentences that it got wrong.
"""

import argparse
import hashlib
import json
import math
import random
import re
import struct
import sys
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.agent import request_classifier as model
from anycowork.agent.expectations import of_request
from anycowork.domain.evidence import Expectation, ExpectationKind

FOLDER = Path(model.__file__).parent / "request_wording"
USES = {"w": model.PathUse.WORK, "p": model.PathUse.PROTECT, "o": model.PathUse.ONLY, "a": model.PathUse.MENTION}
KINDS = [kind.value for kind in model.SentenceKind]
MARK = re.compile(r"<([wpoa])(?::[^>]*)?>")
PATH_MARK = re.compile(r"<([nwpoag]):([^>]*)>")
EXPANSIONS, WIDE_EXPANSIONS = 36, 110  # sentences of a template; of one with named alternatives
EPOCHS, RATE, DECAY, SMALLEST = 6, 0.12, 2e-5, 16
WITH_TYPO, IN_ASCII, UNMARKED_QUESTION, WITH_NOUN = (
    0.12,
    0.2,
    0.25,
    0.3,
)  # shares of the training sentences that are written that way
WITH_THING = 0.1
THINGS = {
    "English": ("the * folder", "the * file", "the * directory", "the file *", "the folder *", "the * module", "our *"),
    "German": (
        "den Ordner *",
        "die Datei *",
        "den * Ordner",
        "die * Datei",
        "im Ordner *",
        "der Datei *",
        "das Verzeichnis *",
    ),
    "French": (
        "le fichier *",
        "le dossier *",
        "au fichier *",
        "au dossier *",
        "du dossier *",
        "le répertoire *",
        "notre *",
    ),
    "Spanish": ("el archivo *", "la carpeta *", "el fichero *", "del archivo *", "el directorio *", "nuestro *"),
}
TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
REQUESTS = ("requests", "unseen", "later_requests", "reports", "later_reports", "fresh_requests", "blind_requests")
NEVER_SHOWN = ("blind_requests",)
Example = tuple[list[str], str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check:
        sentences = list(training_sentences(random.Random(8484)))
        stored = {
            "training": training_digest(),
            "sentence": fit([(model.sentence_features(hidden(text)), kind) for kind, text in sentences], KINDS),
            "path": fit(
                [example for _, text in sentences for example in path_examples(text)],
                [use.value for use in model.PathUse],
            ),
        }
        text = json.dumps(stored, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        (FOLDER / "weights.json").write_text(text + "\n", encoding="utf-8")
        model._model.cache_clear()
    return report(quiet=arguments.quiet)


def training_sentences(chance: random.Random) -> Iterable[tuple[str, str]]:
    """Yields expanded templates, and joins of two sentences of one language."""
    groups: list[list[tuple[str, str]]] = []
    named: dict[str, str] = {}
    nouns = language = ""
    for line in (FOLDER / "training.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# ---"):
            groups.append([])
            language = re.split("[ ,]+", line)[2]
            nouns = named[f"@before{language}"]
        if line.startswith("@"):
            name, _, alternatives = line.partition(" = ")
            named[name] = f"({alternatives})"
        elif line and not line.startswith("#"):
            kind, _, template = line.partition(" | ")
            count = WIDE_EXPANSIONS if "@" in template else EXPANSIONS
            template = re.sub("@[a-z]+", lambda match: named[match[0]], template)
            expanded = sorted({expand(with_noun(template, nouns, chance), chance) for _ in range(count)})
            groups[-1] += [(kind.strip(), as_typed(with_thing(text, language, chance), chance)) for text in expanded]
    for group in groups:
        yield from group
        changing = [pair for pair in group if pair[0] in ("change", "keep") and MARK.search(pair[1])]
        for _ in range(len(group) // 3 if changing else 0):
            (first_kind, first), (second_kind, second) = chance.choice(changing), chance.choice(changing)
            joined = f"{first}{chance.choice([' , ', ' ; ', ' and ', ' - ', ' : '])}{second}"
            yield ("change" if "change" in (first_kind, second_kind) else "keep"), joined


def training_digest() -> str:
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in ("training.txt", "words.txt"))).hexdigest()


def with_noun(template: str, nouns: str, chance: random.Random) -> str:
    """Puts a noun before a path that begins the template: `the file x.py must stay`."""
    return f"{nouns} {template}" if template.startswith(("<p>", "<w>")) and chance.random() < WITH_NOUN else template


def with_thing(text: str, language: str, chance: random.Random) -> str:
    """Calls one of the paths of a sentence what it is, as people do: `the <p> folder`, `le dossier <p>`."""
    marks = list(MARK.finditer(text))
    if not marks or chance.random() >= WITH_THING:
        return text
    mark = chance.choice(marks)
    called = chance.choice(THINGS[language]).replace("*", mark[0])
    return f"{text[: mark.start()]}{called}{text[mark.end() :]}"


def expand(template: str, chance: random.Random) -> str:
    """Chooses one of each group of alternatives, innermost first. A group in brackets, or with a question mark behind it, may be missing."""
    while match := re.search(r"\(([^()\[\]]*)\)(\??)|\[([^()\[\]]*)\]", template):
        alternatives, is_optional = (match[3], True) if match[3] is not None else (match[1], bool(match[2]))
        choice = "" if is_optional and chance.random() < 0.5 else chance.choice(alternatives.split("|"))
        template = template[: match.start()] + choice + template[match.end() :]
    return " ".join(template.split(" | ")[0].split())


def as_typed(text: str, chance: random.Random) -> str:
    """Returns the sentence as people type it: now and then without its question mark, in plain ASCII, or with a slip of the finger."""
    if text.endswith("?") and chance.random() < UNMARKED_QUESTION:
        text = text[:-1].rstrip()
    if chance.random() < IN_ASCII:
        text = text.translate(TWO_LETTERS)
    if chance.random() >= WITH_TYPO:
        return text
    words = text.split(" ")
    long_words = [index for index, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if long_words:
        index = chance.choice(long_words)
        words[index] = with_slip(words[index], chance)
    return " ".join(words)


def with_slip(word: str, chance: random.Random) -> str:
    place = chance.randrange(1, len(word) - 1)
    slips = (
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    )
    return chance.choice(slips)


def hidden(text: str) -> str:
    return MARK.sub(model.OTHER_PATH, text)


def path_examples(text: str) -> Iterable[Example]:
    for mark in MARK.finditer(text):
        before, after = hidden(text[: mark.start()]), hidden(text[mark.end() :])
        yield model.path_features(f"{before}{model.TARGET}{after}"), USES[mark[1]].value


def fit(examples: list[Example], classes: list[str]) -> dict[str, object]:
    """Multinomial logistic regression by stochastic gradient descent, averaged over the epochs."""
    chance = random.Random(4848)
    weights: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(classes))
    total: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(classes))
    for epoch in range(EPOCHS):
        chance.shuffle(examples)
        rate = RATE / (1 + epoch)
        for features, name in examples:
            rows = [weights[feature] for feature in features]
            sums = [sum(column) for column in zip(*rows, strict=True)]
            top = max(sums)
            powers = [math.exp(each - top) for each in sums]
            whole = sum(powers)
            steps = [rate * ((name == each) - power / whole) for each, power in zip(classes, powers, strict=True)]
            for row in rows:
                for at, step in enumerate(steps):
                    row[at] += step - DECAY * row[at]
        for feature, row in weights.items():
            mean = total[feature]
            for at, weight in enumerate(row):
                mean[at] += weight / EPOCHS
    rounded = {feature: [round(100 * each) for each in row] for feature, row in total.items()}
    kept = {feature: row for feature, row in sorted(rounded.items()) if max(map(abs, row)) >= SMALLEST}
    numbers = [number for row in kept.values() for number in row]
    packed = b64encode(struct.pack(f"<{len(numbers)}h", *numbers)).decode()
    return {"classes": classes, "features": "\n".join(kept), "weights": packed}


def report(*, quiet: bool) -> int:
    for name in ("tuning", "held_out"):
        score_sentences(name, quiet=quiet)
    for name in REQUESTS:
        score_requests(name, quiet=quiet or name in NEVER_SHOWN)
    return 0


def score_sentences(name: str, *, quiet: bool) -> None:
    right = {"sentence": [0, 0], "path": [0, 0], "protects": [0, 0], "asks for a change": [0, 0]}
    for _, kind, text in labelled(name):
        likely = model.sentence_kind(hidden(text))
        best = max(likely, key=lambda candidate: likely[candidate])
        is_right = best == kind or (best, kind) == ("count", "content")
        count(right["sentence"], is_right)
        count(right["asks for a change"], (best == "change") == (kind == "change"))
        if not is_right and not quiet:
            sys.stdout.write(f"sentence {kind} taken for {best} ({likely[best]:.2f}): {text}\n")
        for mark in MARK.finditer(text):
            uses = model.path_use(hidden(text[: mark.start()]) + model.TARGET + hidden(text[mark.end() :]))
            use = max(uses, key=lambda candidate: uses[candidate])
            count(right["path"], use == USES[mark[1]])
            holds = ("protect", "only")
            count(right["protects"], (use in holds) == (USES[mark[1]] in holds))
            if use != USES[mark[1]] and not quiet:
                sys.stdout.write(f"path {USES[mark[1]]} taken for {use} ({uses[use]:.2f}): {text}\n")
    for part, (good, all_) in right.items():
        sys.stdout.write(f"{name}, {part}: {good} of {all_} ({100 * good / all_:.1f} %)\n")


@dataclass
class Tally:
    """Expectations that a person would have and that are derived; that are missing; and that are derived wrongly."""

    right: int = 0
    missing: int = 0
    wrong: int = 0

    def __str__(self) -> str:
        derived, expected = self.right + self.wrong, self.right + self.missing
        precision = f"{100 * self.right / derived:.0f} %" if derived else "-"
        recall = f"{100 * self.right / expected:.0f} %" if expected else "-"
        return f"{self.right} right, {self.missing} missing, {self.wrong} wrong, precision {precision}, recall {recall}"


@dataclass
class RequestScore:
    exact: int = 0
    requests: int = 0
    tallies: dict[tuple[str, str], Tally] = field(default_factory=lambda: defaultdict(Tally))


def score_requests(name: str, *, quiet: bool) -> RequestScore:
    """Prints, for each kind of expectation and each language, which of those that a person would have are derived, and which others."""
    score = RequestScore()
    for language, kind, text in labelled(name):
        marks = PATH_MARK.findall(text)
        existing = {path.rstrip("/") for mark, path in marks if mark not in "ng"}
        request = PATH_MARK.sub(lambda mark: mark[2], text).replace("\\n", "\n")
        derived = of_request(request, lambda path, existing=existing: path.rstrip("/") in existing)
        expected = set(expected_by_person(kind, marks))
        actual = {(part, path) for expectation in derived.expectations for part, path in told_of(expectation)}
        actual |= {("asks for a change", "")} if derived.asks_change else set()
        score.requests += 1
        score.exact += actual == expected
        for pair in expected | actual:
            for group in ("all", language):
                tally = score.tallies[(pair[0], group)]
                tally.right += pair in expected and pair in actual
                tally.missing += pair not in actual
                tally.wrong += pair not in expected
        if actual != expected and not quiet:
            missing, surplus = sorted(expected - actual), sorted(actual - expected)
            sys.stdout.write(f"{name}: missing {missing}, surplus {surplus}: {request!r}\n")
    for (part, language), tally in sorted(score.tallies.items()):
        sys.stdout.write(f"{name}, {part}, {language}: {tally}\n")
    share = 100 * score.exact / max(score.requests, 1)
    sys.stdout.write(f"{name}, nothing missing or wrong: {score.exact} of {score.requests} ({share:.1f} %)\n")
    return score


def expected_by_person(kind: str, marks: list[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    if kind == "change":
        yield "asks for a change", ""
    if kind in ("content", "advice"):
        yield "no_change", ""
    for mark, path in marks:
        if mark in "npo" or (mark == "a" and kind == "content" and not path.endswith("/")):
            yield {"n": "output", "p": "protected", "o": "only", "a": "read"}[mark], path


def told_of(expectation: Expectation) -> Iterable[tuple[str, str]]:
    match expectation.kind:
        case ExpectationKind.CHECK:
            return
        case ExpectationKind.PROTECTED if expectation.only:
            yield from (("only", path) for path in expectation.only)
        case ExpectationKind.NO_CHANGE:
            yield "no_change", ""
        case _:
            yield expectation.kind.value, expectation.subject


def labelled(name: str) -> Iterable[tuple[str, str, str]]:
    """Yields the language, kind and text of each line."""
    language = ""
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# ---"):
            language = line.removeprefix("# ---").strip()
        elif line and not line.startswith("#"):
            kind, _, text = line.partition(" | ")
            yield language, kind.strip(), text


def count(pair: list[int], is_right: bool) -> None:
    pair[0] += is_right
    pair[1] += 1


if __name__ == "__main__":
    sys.exit(main())
