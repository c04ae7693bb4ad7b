"""Which headers cross the gateway, and which model a body names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.gateway.metering import read_metered_request
from anycowork.api.gateway.proxy_headers import towards_client, towards_provider
from support.spec import proves

NAMES = st.from_regex(rb"[a-z][a-z-]{0,15}", fullmatch=True)
SECRETS = [b"authorization", b"cookie", b"x-api-key", b"api-key", b"proxy-authorization"]


@proves("GW-1", "SEC-2")
@given(st.lists(st.tuples(NAMES | st.sampled_from(SECRETS), st.binary(max_size=20))))
def test_no_credential_and_no_control_character_goes_to_a_provider(headers):
    for name, value in towards_provider(headers):
        assert name not in SECRETS
        assert all(byte == 9 or 32 <= byte <= 126 for byte in value)


@proves("GW-1")
def test_what_a_connection_names_ends_with_it():
    headers = [(b"Connection", b"close, X-Own"), (b"X-Own", b"1"), (b"Transfer-Encoding", b"chunked"), (b"X-Id", b"7")]
    assert towards_client(headers) == [(b"x-id", b"7")]
    assert towards_provider([(name.lower(), value) for name, value in headers]) == [(b"x-id", b"7")]


@proves("GW-1")
def test_limits_and_ids_of_a_provider_reach_the_client_and_words_about_its_site_do_not():
    kept = [(b"x-ratelimit-remaining-tokens", b"9"), (b"retry-after", b"1"), (b"content-encoding", b"br")]
    dropped = [(b"set-cookie", b"a"), (b"access-control-allow-origin", b"*"), (b"location", b"/"), (b"nel", b"{}")]
    assert towards_client([*dropped, *kept]) == kept


@proves("GW-1")
@pytest.mark.parametrize(
    ("taken", "told"),
    [
        (b"gzip, deflate, br, zstd", b"gzip, deflate"),
        (b"br;q=1.0, GZIP;q=0.8, *;q=0.1", b"GZIP;q=0.8"),
        (b"br", b"identity"),
        (b"", b"identity"),
        (b"identity", b"identity"),
    ],
)
def test_a_provider_is_told_of_encodings_only_those_that_are_opened_for_the_count(taken, told):
    assert towards_provider([(b"accept-encoding", taken)]) == [(b"accept-encoding", told)]


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (b'{"model": "a/b", "x": {"model": "inner"}}', "a/b"),
        (b'{"x": {"model": "inner"}}', None),
        (b'{"model": null}', None),
        (b'["model"]', None),
        (b"", None),
    ],
)
def test_only_the_top_level_names_the_model(body, model):
    assert read_metered_request(body).model == model


@given(st.binary(max_size=50))
def test_no_body_is_too_odd_to_be_looked_at(body):
    assert read_metered_request(body).model is None or b"model" in body
