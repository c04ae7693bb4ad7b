import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.network import read_address


@pytest.mark.parametrize(
    ("text", "canonical", "reach"),
    [
        ("https://Example.ORG", "https://example.org/", ["example.org:443", "example.org:80"]),
        (
            "http://example.org:80/a b".replace(" ", "%20"),
            "http://example.org/a%20b",
            ["example.org:443", "example.org:80"],
        ),
        ("https://example.org:8443/ü?q=ä#top", "https://example.org:8443/%C3%BC?q=%C3%A4", ["example.org:8443"]),
        ("http://[2001:db8::1]/x", "http://[2001:db8::1]/x", ["[2001:db8::1]:443", "[2001:db8::1]:80"]),
    ],
)
def test_an_address_has_one_spelling_and_names_its_destinations(text: str, canonical: str, reach: list[str]) -> None:
    address = read_address(text)
    assert str(address) == canonical and [*map(str, address.reach)] == reach
    assert read_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https://me:pw@example.org/", "https://a b.org/",
        "https://exa\nmple.org/", "https://*.example.org/", "https://2130706433/", "https://0x7f.1/", "https://example.org:0/",
        "https://exämple.org/", "javascript:alert(1)", "https://example.org/" + "x" * 5_000,
    ],
)  # fmt: skip
def test_other_addresses_are_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w{3,}"):
        read_address(text)


@given(st.text(max_size=60))
def test_no_text_becomes_a_request_with_control_characters_or_credentials(text: str) -> None:
    try:
        address = read_address(f"https://example.org/{text}")
    except ValueError:
        return
    assert address.target.isascii() and address.target.isprintable() and " " not in address.target
    assert address.destination.host == "example.org"


def test_a_redirect_is_read_against_the_page() -> None:
    page = read_address("https://example.org/a/b?c")
    assert str(page.joined("../d")) == "https://example.org/d"
    assert page.joined("//other.example/x").destination.host == "other.example"
    with pytest.raises(ValueError, match="http and https"):
        page.joined("file:///etc/passwd")
