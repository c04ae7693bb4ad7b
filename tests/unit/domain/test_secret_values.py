"""What looks like a secret is hidden whatever stands around it, and what only resembles one is left alone."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.messages import Message, Speaker
from anycowork.domain.secret_values import (
    STAND_IN,
    SecretHider,
    as_exported,
    as_told,
    hidden_kinds,
    hidden_values_of,
    stand_in_among,
)
from anycowork.prompts.window import optimize_history_by_tokens
from support.spec import proves

# Made of pieces, so that nothing that looks for keys in source files finds one here.
RANDOM = "wJ4rXUtnFEM1K7MDENGbPxR9iCYzEXAMPLEK3Y9a"
KEY_BLOCK = f"-----BEGIN RSA {'PRIVATE KEY'}-----\n{RANDOM}\n{RANDOM}\n-----END RSA {'PRIVATE KEY'}-----"
WEB_TOKEN = ".".join(("ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxMjM0NSJ9", RANDOM))
SECRETS = {
    "GitHub token": (f"ghp_{RANDOM[:36]}", "{}"),
    "GitLab token": (f"glpat-{RANDOM[:20]}", "{}"),
    "Slack token": (f"xoxb-{RANDOM[:24]}", "{}"),
    "npm token": (f"npm_{RANDOM[:36]}", "//registry/:_auth={}"),
    "AWS key id": (f"AK{'IA'}Q3EXAMPLE7EXAMP9", "{}"),
    "Google key": (f"AIza{RANDOM[:35]}", "{}"),
    "Anthropic key": (f"sk-ant-api03-{RANDOM}", "{}"),
    "API key": (f"sk-proj-{RANDOM}", "{}"),
    "Webhook secret": (f"whsec_{RANDOM[:43]}=", "{}"),
    "Stripe key": (f"sk_live_{RANDOM[:24]}", "{}"),
    "web token": (WEB_TOKEN, "{}"),
    "private key": (KEY_BLOCK, "{}"),
    "password": ("hunter2secret", "postgres://app:{}@db.example/shop"),
    "access token": (RANDOM, "curl -H 'Authorization: Bearer {}'"),
    "secret value": (RANDOM, "AWS_SECRET_ACCESS_KEY={}"),
}
ASSIGNED = [
    "password: {}",
    "'api_key': '{}'",
    'client_secret = "{}"',
    "TOKEN={}",
    '"accessKey":"{}"',
    "DB_PASSWORD := {}",
]
ORDINARY = [
    "token = next(tokens)",
    '"next_page_token": "CAUQAA9xZ81kQmR2dGhl", "nextPageToken": "CAUQAA9xZ81kQmR2dGhl"',
    "password = os.environ['PASSWORD']",
    "secret = config.secret_for(user_name_2)",
    "API_KEY=your_api_key_goes_here_123",
    "<div id='sk-container-id-1' class='sk-top-container'>",
    "access_token_expires_in_seconds: 3600",
    "token_type: authorization_code_grant_2",
    "https://example.com:8080/a@b",
    "git@github.com:owner/name.git",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34\n-----END PUBLIC KEY-----",
    "def test_passwords_are_hashed_with_16_rounds(): ...",
    "The bearer of this token may read.",
    "id = 01a1f212-1a23-7000-8b69-878e38a8042a",
]


def hidden(text: str) -> str:
    return SecretHider().hide(text)


@proves("SEC-6")
@pytest.mark.parametrize("kind", SECRETS)
def test_each_shape_is_hidden_under_its_name(kind: str) -> None:
    secret, around = SECRETS[kind]
    assert hidden(f"a {around.format(secret)} b") == f"a {around.format(f'«hidden 1: {kind}»')} b"


@proves("SEC-6")
@pytest.mark.parametrize("around", ASSIGNED)
def test_a_random_value_is_hidden_by_the_name_that_it_is_given(around: str) -> None:
    assert hidden(around.format(RANDOM)) == around.format("«hidden 1: secret value»")


@proves("SEC-6")
@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_resembles_a_secret_is_left_alone(text: str) -> None:
    assert hidden(text) == text


@proves("SEC-6")
@given(
    st.sampled_from(sorted(SECRETS)),
    st.text(max_size=60),
    st.text(max_size=60),
    st.sampled_from(["\n", " ", "\t", "'", '"', "=", ";", "\u00e4 "]),
)
def test_nothing_around_a_secret_keeps_it_in_sight(kind: str, before: str, after: str, joint: str) -> None:
    secret, around = SECRETS[kind]
    assert secret not in hidden(f"{before}{joint}{around.format(secret)}{joint}{after}")


@proves("SEC-6")
@given(st.text(alphabet=string.ascii_letters + string.punctuation + " \n", max_size=300))
def test_what_is_hidden_once_has_nothing_more_to_hide(text: str) -> None:
    assert hidden(hidden(text)) == hidden(text)


def test_a_key_that_was_cut_off_is_hidden_to_the_end() -> None:
    cut = KEY_BLOCK[: KEY_BLOCK.index("-----END")]
    assert hidden(f"a\n{cut}") == "a\n«hidden 1: private key»"


def test_values_are_numbered_across_the_texts_of_a_message_and_the_same_one_once() -> None:
    first, second = SECRETS["GitHub token"][0], SECRETS["GitLab token"][0]
    texts = (f"{first} {second}", f"{second} {first}")
    payload = {"diff": texts[1], **hidden_kinds(texts)}
    message = Message("m", "c", Speaker.TOOL, texts[0], payload=payload)
    told = as_told(message)
    assert told.content == "«hidden 1: GitHub token» «hidden 2: GitLab token»"
    assert (told.payload or {})["diff"] == "«hidden 2: GitLab token» «hidden 1: GitHub token»"
    assert [hidden_value.text for hidden_value in hidden_values_of(message)] == [first, second]


def test_a_long_text_is_looked_through_where_a_model_is_told_it() -> None:
    secret = SECRETS["GitHub token"][0]
    text = f"{secret} {'a ' * 100_000}{secret} {'b ' * 100_000}{secret}"
    told = as_told(Message("m", "c", Speaker.TOOL, text, payload={**hidden_kinds((text,))})).content
    assert told.count("«hidden 1: GitHub token»") == 2 and told.startswith("«") and told.endswith("»")
    assert secret not in hidden(text), "an export holds none"


def test_an_imported_result_is_looked_through_whatever_it_claims() -> None:
    secret = SECRETS["GitHub token"][0]
    for payload in (None, {"tool": "read_file"}, {"tool": "read_file", "hidden_values": []}):
        imported = Message("m", "c", Speaker.TOOL, secret, payload=payload, origins=frozenset({"import"}))
        assert as_told(imported).content == "«hidden 1: GitHub token»"
        assert [hidden_value.text for hidden_value in hidden_values_of(imported)] == [secret]


def test_what_a_person_wrote_is_told_as_it_is_and_never_exported() -> None:
    secret = SECRETS["GitHub token"][0]
    message = Message("m", "c", Speaker.USER, f"Use {secret}", payload={"a": [{"b": secret}]}, reasoning=secret)
    assert as_told(message) is message
    exported = as_exported(message)
    assert secret not in str(exported.to_json()) and "Use «hidden 1: GitHub token»" in exported.content


def test_a_stand_in_is_seen_at_any_depth() -> None:
    stand_in = hidden(SECRETS["password"][1].format(SECRETS["password"][0]))
    match = STAND_IN.search(stand_in)
    assert match is not None and stand_in_among({"edits": [{"find": "a", "replace": stand_in}]}) == match[0]
    assert stand_in_among({stand_in: 1}) == match[0]
    assert stand_in_among({"content": 'f"«hidden {number}: {kind}»"'}) is None


def test_a_bare_imported_result_is_told_with_stand_ins() -> None:
    message = Message("m", "c", Speaker.TOOL, f"key {SECRETS['GitHub token'][0]}", origins=frozenset({"import"}))
    [told] = optimize_history_by_tokens([message], budget=10_000)
    assert told.content == "key «hidden 1: GitHub token»"
