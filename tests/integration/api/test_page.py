"""The page at `/`: built or not, it loads nothing from elsewhere, and no name leads out of its folder."""

import pytest

from anycowork.api.routes import page
from support.spec import proves

BUILT = "<!doctype html><script type=module src=/assets/index-1.js></script>"


@pytest.fixture
def built(tmp_path, monkeypatch):
    """An installation with a built web UI."""
    (tmp_path / "dist" / "assets").mkdir(parents=True)
    (tmp_path / "dist" / "index.html").write_text(BUILT)
    (tmp_path / "dist" / "assets" / "index-1.js").write_text("let a = 1;" * 100)
    (tmp_path / "secret.txt").write_text("secret")
    _stands_in(monkeypatch, tmp_path)


@pytest.fixture
def unbuilt(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("how to get it: make web")
    (tmp_path / "style.css").write_text("body {}")
    _stands_in(monkeypatch, tmp_path)


def _stands_in(monkeypatch, folder) -> None:
    monkeypatch.setattr(page, "_static", lambda: folder)
    page._content.cache_clear()


@proves("SEC-1")
async def test_the_built_page_may_load_its_own_parts_and_nothing_else(anonymous, built):
    answer = await anonymous.get("/")
    policy = answer.headers["content-security-policy"]
    assert answer.body.decode() == BUILT
    assert "default-src 'none'" in policy and "script-src 'self'" in policy
    assert "unsafe" not in policy and "http" not in policy and "data:" not in policy


async def test_an_asset_is_kept_for_ever_and_carries_the_pages_policy_for_its_worker(anonymous, built):
    answer = await anonymous.get("/assets/index-1.js", headers={"accept-encoding": "gzip"})
    assert answer.status == 200 and "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip" and len(answer.body) < 100
    assert "connect-src 'self'" in answer.headers["content-security-policy"]
    assert "javascript" in answer.headers["content-type"]


async def test_who_does_not_speak_gzip_gets_it_plain(anonymous, built):
    answer = await anonymous.get("/assets/index-1.js")
    assert answer.body.startswith(b"let a = 1;") and "content-encoding" not in answer.headers


@pytest.mark.parametrize("name", ["nothing.js", "..%2F..%2Fsecret.txt", "%2E%2E/secret.txt", ".."])
async def test_no_name_leads_out_of_the_folder(anonymous, built, name):
    answer = await anonymous.get(f"/assets/{name}")
    assert answer.status in (401, 404) and b"secret" not in answer.body.replace(name.encode(), b"").replace(
        b"secret.txt", b""
    )


async def test_without_the_web_ui_the_page_says_how_to_get_it(anonymous, unbuilt):
    answer = await anonymous.get("/")
    assert answer.status == 200 and b"make web" in answer.body
    assert "script-src" not in answer.headers["content-security-policy"]
    assert (await anonymous.get("/assets/style.css")).status == 200


def test_our_own_page_without_the_web_ui_names_the_way_out():
    assert b"make web" in page._static().joinpath("index.html").read_bytes()
