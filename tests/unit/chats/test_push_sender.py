"""Web Push as its RFCs describe it: the example of RFC 8291, and signatures that PyJWT accepts."""

import base64

import jwt
import pytest

from anycowork.chats.notifications.message_sender import encrypted, new_server_key, public_key_of, vapid_header
from anycowork.domain.errors import Invalid
from anycowork.domain.network import read_address
from anycowork.domain.notifications import read_push_keys
from support.browser_keys import verifying_key
from support.spec import proves

# RFC 8291, appendix A
BROWSER = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
SECRET = "BTBZMqHH6r4Tts7J_aSIgg"
OWN_KEY = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
RESULT = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
    "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


@proves("OPS-7/2")
def test_the_example_of_the_rfc_is_encrypted_byte_for_byte() -> None:
    salt = base64.urlsafe_b64decode(SALT + "==")
    content = b"When I grow up, I want to be a watermelon"
    body = encrypted(content, read_push_keys(BROWSER, SECRET), own_key=OWN_KEY, salt=salt)
    assert base64.urlsafe_b64encode(body).rstrip(b"=").decode() == RESULT


def test_each_message_has_its_own_key_and_salt() -> None:
    keys = read_push_keys(BROWSER, SECRET)
    first, second = encrypted(b"x", keys), encrypted(b"x", keys)
    assert first[:16] != second[:16] and first[21:86] != second[21:86]


@proves("OPS-7/2")
def test_a_push_is_signed_for_the_origin_of_its_service_and_for_half_a_day() -> None:
    key, now = new_server_key(), 1_900_000_000
    header = vapid_header(read_address("https://push.example/send/abc?x=1"), "https://work.example/", key, now)
    token, _, public = header.removeprefix("vapid t=").partition(", k=")
    assert public == public_key_of(key)
    claims = jwt.decode(
        token,
        verifying_key(public),
        algorithms=["ES256"],
        audience="https://push.example",
        options={"verify_exp": False},
    )
    assert claims == {"aud": "https://push.example", "exp": now + 12 * 3600, "sub": "https://work.example/"}


@pytest.mark.parametrize(
    ("public_key", "secret"),
    [("", SECRET), (BROWSER, ""), (BROWSER[:-4], SECRET), ("%" * 87, SECRET), (SECRET, BROWSER)],
)
def test_what_is_no_key_is_refused(public_key: str, secret: str) -> None:
    with pytest.raises(Invalid):
        read_push_keys(public_key, secret)
