"""What a request expects is told in four languages, for wordings that the classifier was not fitted on; in doubt nothing is claimed."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from anycowork.agent.expectations import of_request
from anycowork.domain.evidence import ExpectationKind
from support.spec import proves

# Faults as people report them; none of these is a training sentence.
FAULTS = """\
The retry logic in net/client.py gives up after one attempt. Make it three.
orders.py double-charges customers who reload the page. Sort that out.
Session tokens in auth.py are predictable. Use secrets instead.
date_utils.py isn't timezone-aware; please repair.
The thumbnail code in images.py keeps file handles open. Please fix.
search.py should stay responsive with 10,000 entries. Speed it up.
slugify() in text.py does not strip trailing dashes.
The regex in urls.py rejects valid ports.
billing.py's totals are rounded twice; sort it out.
emails.py isn't sending anything since Monday.
The rate limiter in api.py counts each request twice.
README.md still says version 1; it should say 2.
The login function in app/auth.py is vulnerable to SQL injection. Please fix it.
utils.py must not raise on None. Fix it.
The counter in stats.py stays at zero. Fix it.
Der Login in auth.py ist für Brute Force offen. Bitte absichern.
steuer.py rundet nicht kaufmännisch. Korrigiere das.
Der Zähler in stats.py bleibt immer bei 1 stehen. Beheb das.
utils.py darf bei None nicht abstürzen. Behebe das.
Die Uhrzeiten in kalender.py sind eine Stunde falsch. Bitte beheben.
Passwörter landen in log.py im Klartext. Das muss weg.
Le compteur dans stats.py reste bloqué à zéro. Répare-le.
client.py ne ferme pas la connexion. Corrige ça.
auth.py est vulnérable aux injections SQL. Corrige-le.
Les dates dans agenda.py sont décalées d'une heure. Corrige.
Le cache de prix.py n'expire jamais.
El contador de stats.py se queda en cero. Arréglalo.
client.py no cierra la conexión. Arréglalo.
auth.py es vulnerable a inyección SQL. Corrígelo.
Las fechas de agenda.py están desplazadas una hora. Corrígelo.
El filtro de lista.py distingue mayúsculas. No debería.
"""
SCRIPT = Path(__file__).parents[3] / "scripts" / "fit_request_classifier.py"


@pytest.fixture(scope="module")
def fitting() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_request_classifier", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@proves("EVD-2/1", "EVD-2/6")
@pytest.mark.parametrize(
    ("name", "least"),
    [("requests", 0.9), ("unseen", 0.95), ("later_requests", 0.8), ("fresh_requests", 0.9), ("blind_requests", 0.8)],
)
def test_most_requests_give_exactly_what_a_person_would_expect(fitting: ModuleType, name: str, least: float) -> None:
    score = fitting.score_requests(name, quiet=True)
    assert score.exact >= least * score.requests


@proves("EVD-2/6")
def test_what_was_written_after_the_fitting_gives_no_wrong_expectation(fitting: ModuleType) -> None:
    score = fitting.score_requests("later_requests", quiet=True)
    wrong = {key: tally.wrong for key, tally in score.tallies.items() if tally.wrong and key[0] != "asks for a change"}
    assert wrong == {}


def test_a_reported_fault_seldom_protects_the_file_that_has_it() -> None:
    reports = FAULTS.splitlines()
    held = [
        r
        for r in reports
        if any(e.kind is ExpectationKind.PROTECTED for e in of_request(r, lambda _: True).expectations)
    ]
    assert len(reports) == 31 and len(held) <= 4, held  # 13 before training sentences had faults


@pytest.mark.parametrize(
    ("name", "missed", "held"),
    [("reports", 3, 1), ("later_reports", 4, 2), ("fresh_requests", 1, 5), ("blind_requests", 6, 4)],
)
def test_protections_are_found_beside_reports_in_words_that_were_not_fitted(
    fitting: ModuleType, name: str, missed: int, held: int
) -> None:
    """A protection that is missed is worse than a report whose file is held: a fitting may worsen neither."""
    tallies = fitting.score_requests(name, quiet=True).tallies
    both = [tallies[(kind, "all")] for kind in ("protected", "only")]
    assert sum(tally.missing for tally in both) <= missed and sum(tally.wrong for tally in both) <= held


def test_the_weights_were_fitted_on_the_training_sentences_as_they_are(fitting: ModuleType) -> None:
    stored = json.loads((fitting.FOLDER / "weights.json").read_text(encoding="utf-8"))
    assert stored["training"] == fitting.training_digest()


@proves("EVD-2/2")
@pytest.mark.parametrize(
    "request_text",
    [
        "Make app.py print hello; everything else stays untouched.",
        "Corrige app.py, le reste ne bouge pas.",
        "Arregla app.py, lo demás queda igual.",
        "Ändere nur app.py.",
    ],
)
def test_a_clause_that_spares_the_rest_lets_only_the_named_file_change(request_text: str) -> None:
    subjects = [one.subject for one in of_request(request_text, lambda path: True).expectations]
    assert subjects == ["everything except app.py"]


@proves("EVD-2/2")
@pytest.mark.parametrize(
    ("request_text", "protected"),
    [
        ("Fix the parser in app.py. Leave go.sum untouched.", "go.sum"),
        ("Clean up app.py; the vendor folder must stay as it is.", "vendor"),
        ("Räum app.py auf, der Ordner extern bleibt unverändert.", "extern"),
        ("Trie noms.txt. noms.bak doit rester intact.", "noms.bak"),
        ("Corrige app.py sans toucher au dossier tiers.", "tiers"),
        ("Arregla app.py, pero no toques `config`.", "config"),
        ("Do not touch the vendor folder; fix app.py", "vendor"),
    ],
)
def test_a_name_that_is_there_is_a_path_whatever_it_looks_like(request_text: str, protected: str) -> None:
    there = {"app.py", "noms.txt", "go.sum", "vendor", "extern", "noms.bak", "tiers", "config"}
    expectations = of_request(request_text, there.__contains__).expectations
    assert protected in [one.subject for one in expectations if one.kind is ExpectationKind.PROTECTED]
    nothing_there = of_request(request_text, lambda path: False).expectations
    assert protected not in [one.subject for one in nothing_there]


@proves("EVD-2/2")
@pytest.mark.parametrize(
    ("word", "of_the_same_class"),
    [("touch", "anfassen"), ("modifie", "cambies"), ("leaving", "laissant"), ("ändere", "change"), ("not", "nicht")],
)
def test_words_of_a_class_are_counted_alike_in_all_languages(
    fitting: ModuleType, word: str, of_the_same_class: str
) -> None:
    classes = [fitting.model.classes_of(fitting.model.tokens_of(each)) for each in (word, of_the_same_class)]
    assert classes[0] == classes[1] != []
    assert fitting.model.classes_of(["teapot"]) == []


def test_a_long_request_looks_for_few_names_in_the_workspace() -> None:
    asked: list[str] = []

    def existed(path: str) -> bool:
        asked.append(path)
        return False

    of_request("Fix it. " + " ".join(f"alpha.beta{number}x" for number in range(900)), existed)
    assert len(asked) == 100


@proves("EVD-2/6")
@pytest.mark.parametrize(
    "request_text",
    [
        "Look up how click declares options and add a module",
        "Find out which port the server uses and raise it by one.",
        "Check what the docs say about retries, then bring client.py in line.",
        "Schau nach, wie click Optionen deklariert, und füge ein Modul hinzu.",
        "Finde heraus, welchen Port der Server benutzt, und erhöhe ihn um eins.",
        "Regarde comment click déclare ses options et ajoute un module.",
        "Averigua qué puerto usa el servidor y auméntalo en uno.",
    ],
)
def test_a_request_that_follows_a_question_expects_no_unchanged_workspace(request_text: str) -> None:
    kinds = {expectation.kind for expectation in of_request(request_text, lambda path: True).expectations}
    assert ExpectationKind.NO_CHANGE not in kinds


@pytest.mark.parametrize(
    "question",
    [
        "Is there a notes.md?",
        "Would a file like setup.cfg help here?",
        "Gibt es hier eine notizen.md?",
        "Y a-t-il un fichier notes.md ?",
        "¿Hay un archivo notas.md?",
        "Run the tests and tell me whether they pass.",
        "Führe `pytest -q` aus und sag mir, wie viele scheitern.",
        "Lance les tests et dis-moi ce que ça donne.",
        "Ejecuta los tests y dime qué sale.",
    ],
)
def test_a_question_that_is_answered_honestly_can_not_fail(question: str) -> None:
    can_fail = (ExpectationKind.OUTPUT, ExpectationKind.CHECK)
    assert not [one for one in of_request(question, lambda path: False).expectations if one.kind in can_fail]


@pytest.mark.parametrize(
    "request_text",
    [
        "Run app.py and tell me whether it works. Do not change anything.",
        "Führe app.py aus und sag mir, ob es läuft. Ändere nichts.",
        "Lance app.py et dis-moi si ça marche. Ne change rien.",
        "Ejecuta app.py y dime si funciona. No cambies nada.",
    ],
)
def test_what_is_to_be_run_without_a_change_expects_none(request_text: str) -> None:
    kinds = [one.kind for one in of_request(request_text, lambda path: True).expectations]
    assert ExpectationKind.NO_CHANGE in kinds and ExpectationKind.CHECK not in kinds


@pytest.mark.parametrize(
    ("request_text", "may_be_empty"),
    [
        ("Create an empty file notes.md.", True),
        ("Lege eine leere Datei notes.md an.", True),
        ("Crée un fichier vide notes.md.", True),
        ("Crea un archivo vacío notes.md.", True),
        ("Create video.md with the list of our videos.", False),
        ("Lege leerlauf.md mit einer Erklärung an.", False),
    ],
)
def test_only_a_word_of_its_own_says_that_a_file_may_be_empty(request_text: str, may_be_empty: bool) -> None:
    outputs = [e for e in of_request(request_text, lambda path: False).expectations if e.kind is ExpectationKind.OUTPUT]
    assert [output.may_be_empty for output in outputs] == [may_be_empty]
