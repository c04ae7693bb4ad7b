import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.middleware.allowed_hosts import AllowedHosts, ForeignOrigin, WrongHost
from support.spec import proves

HOME = AllowedHosts.of("127.0.0.1")


def asked(method="GET", **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"method": method, "headers": pairs}


@pytest.mark.parametrize("host", ["127.0.0.1:8484", "localhost:8484", "LOCALHOST", "[::1]:8484", "localhost."])
def test_loopback_names_are_answered(host):
    assert HOME.check(asked(host=host), by_cookie=False) is None


@proves("SEC-1")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example#@localhost",
        "10.0.0.7",
        "",
        "[::1",
        "a b",
        "localhost@evil.example",
    ],
)
def test_a_rebound_name_is_not_answered(host):
    with pytest.raises(WrongHost) as refused:
        HOME.check(asked(host=host), by_cookie=False)
    assert refused.value.status == 421


@proves("SEC-1")
@pytest.mark.parametrize("second", [b"evil.example", b"127.0.0.1:8484"])
def test_a_request_with_two_hosts_is_not_answered(second):
    with pytest.raises(WrongHost):
        HOME.check({"method": "GET", "headers": [(b"host", b"127.0.0.1:8484"), (b"host", second)]}, by_cookie=False)


@given(
    st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){1,3}", fullmatch=True).filter(lambda name: name != "127.0.0.1")
)
def test_no_other_name_is_ever_answered(name):
    with pytest.raises(WrongHost):
        HOME.check(asked(host=name), by_cookie=False)


def test_a_server_on_every_address_answers_to_literals_and_named_hosts_only():
    wide = AllowedHosts.of("0.0.0.0", ["team.example"])
    for host in ("10.0.0.7:8484", "[fe80::1]:8484", "team.example"):
        wide.check(asked(host=host), by_cookie=False)
    with pytest.raises(WrongHost):
        wide.check(asked(host="evil.example"), by_cookie=False)


@proves("SEC-1")
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8484", "file://"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_sites_origin_is_refused(origin, method):
    with pytest.raises(ForeignOrigin):
        HOME.check(asked(method, host="127.0.0.1:8484", origin=origin), by_cookie=False)


def test_the_own_pages_origin_passes():
    assert HOME.check(asked("POST", host="127.0.0.1:8484", origin="http://127.0.0.1:8484"), by_cookie=True) is None


@proves("SEC-1")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_the_browser_calls_foreign_gets_nothing_with_a_cookie(site):
    scope = asked("GET", host="localhost:8484", sec_fetch_site=site)
    with pytest.raises(ForeignOrigin):
        HOME.check(scope, by_cookie=True)
    HOME.check(scope, by_cookie=False)  # a link to our page, without the cookie


def test_a_foreign_changing_request_is_refused_without_a_cookie_too():
    with pytest.raises(ForeignOrigin):
        HOME.check(asked("POST", host="localhost:8484", sec_fetch_site="cross-site"), by_cookie=False)
