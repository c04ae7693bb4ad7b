"""Destinations: one spelling each, and what a pattern means and does not mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.network import Destination, looks_like_address, read_destination, wanted_destinations
from support.spec import proves

LABEL = st.from_regex(r"[a-z][a-z0-9]{0,3}", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
PORT = st.one_of(st.none(), st.sampled_from([22, 80, 443]))
EXACT = st.builds(Destination, NAME, st.sampled_from([22, 80, 443]))
PATTERN = st.builds(Destination, st.one_of(NAME, NAME.map("*.{}".format), st.just("*")), PORT)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Example.ORG", "example.org"),
        (" example.org.:443 ", "example.org:443"),
        ("*.example.org:8443", "*.example.org:8443"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("2001:DB8:0::1", "[2001:db8::1]"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("my_host", "my_host"),
        ("*", "*"),
    ],
)
def test_a_destination_has_one_spelling(text: str, read: str) -> None:
    assert str(read_destination(text)) == read
    assert read_destination(read) == read_destination(text)


@pytest.mark.parametrize(
    "text",
    ["", ".", "a..b", "-a", "a b", "http://a", "a/b", "u@a", "a:", "a:0", "a:65536", "a:+1", "a:８０", "münchen.de", "*a.b", "a.*.b",
     "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "1.2.3.4.5", "*.1", "[::1", "[::1]x", "[fe80::1%25eth0]", "::ffff:1.2.3.4",
     "a\0", "a\nb", "\u212a.example", "x" * 64, ".".join(["abc"] * 70)],
)  # fmt: skip
def test_what_is_not_plainly_a_destination_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_destination(text)


@proves("APR-2")
@given(PATTERN, EXACT)
def test_for_one_place_meaning_it_and_overlapping_it_are_the_same(pattern: Destination, place: Destination) -> None:
    assert pattern.covers(place) == pattern.overlaps(place)


@proves("APR-2")
@given(PATTERN, PATTERN, EXACT)
def test_what_covers_a_pattern_covers_all_that_it_covers(
    outer: Destination, inner: Destination, place: Destination
) -> None:
    if outer.covers(inner) and inner.covers(place):
        assert outer.covers(place)
    if outer.covers(place) and inner.covers(place):
        assert outer.overlaps(inner) and inner.overlaps(outer)


def test_a_star_stands_for_what_is_below_a_name_and_not_for_the_name() -> None:
    wild = read_destination("*.example.org")
    assert wild.covers(read_destination("a.b.example.org:443"))
    assert not wild.covers(read_destination("example.org:443"))
    assert not wild.covers(read_destination("evilexample.org:443"))


def test_a_request_without_a_port_is_for_the_web() -> None:
    assert list(map(str, wanted_destinations(["a.example", "b.example:22", "A.example"]))) == [
        "a.example:443",
        "a.example:80",
        "b.example:22",
    ]


def test_a_request_for_everywhere_is_none() -> None:
    for texts in (["*"], ["*:443"], [f"h{n}.example" for n in range(30)]):
        with pytest.raises(ValueError, match=r"name the hosts|request fewer"):
            wanted_destinations(texts)


ADDRESSES = [
    "see https://a.example/?q=1 there",
    "www.example.org",
    "example.org",
    "Key-123.Example.ORG.",
    "example.org/a?b",
    "example.org?b",
    "evil.md/key",
    "key.evil.md",
    "key.evil.sh:443",
    "example.org:8443",
    "ann:pass@example.org/a",
    "git@example.org:a/b",
    "//example/a",
    "\\\\example\\share",
    "https:example.org",
    "HTTPS:/example",
    "192.0.2.1",
    "192.0.2.1:80/a",
    "[2001:db8::1]",
    "2001:db8::1",
    "bücher.example",
    "key\u3002example\uff61org",
    "a.xn--p1ai",
    "localhost:80",
]
NO_ADDRESSES = [
    "",
    "ann@example.org",
    "what is new at example.org",
    "README.md",
    "notes.txt",
    "a.tar.gz",
    "src/main.py",
    "main.py:12",
    "./a.b/c",
    "../a.b",
    ".github/workflows/x.yml",
    "/etc/hosts.conf",
    "1.2.3",
    "v1.2",
    "U.S.",
    "12:30",
    "issue:123",
    "a-b_c",
    "42",
    "x" * 1_000 + ".example",
]


@pytest.mark.parametrize("text", ADDRESSES)
def test_what_a_program_may_fetch_looks_like_an_address(text: str) -> None:
    assert looks_like_address(text) and looks_like_address(f" {text}\n")


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_names_of_files_and_people_numbers_and_sentences_look_like_no_address(text: str) -> None:
    assert not looks_like_address(text)
