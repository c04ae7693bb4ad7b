import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import OutsideWorkspace
from anycowork.domain.path_class import is_git_control
from anycowork.workspace.paths import lexical_parts, shown
from support.spec import proves

ROOT = "/srv/project"


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.txt", ("a.txt",)),
        ("./a//b/./c", ("a", "b", "c")),
        ("a/../b", ("b",)),
        (".", ()),
        ("/srv/project", ()),
        ("/srv/project/src/a.py", ("src", "a.py")),
        ("...", ("...",)),
        ("․․/a", ("․․", "a")),
    ],
)
def test_a_usable_path_folds_to_its_components(path: str, parts: tuple[str, ...]) -> None:
    assert lexical_parts(path, ROOT) == parts


@proves("TOOL-3")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "/",
        "/srv/project2/a",
        "/srv/project/../x",
        "a\0b",
        "a\nb",
        "\ud800",
        "\udcff",
        "x" * 256,
        "x/" * 2100,
    ],
)
def test_a_path_that_leads_out_or_names_nothing_is_refused_kindly(path: str) -> None:
    with pytest.raises(OutsideWorkspace) as refused:
        lexical_parts(path, ROOT)
    refused.value.message.encode()
    assert refused.value.message.endswith(".") and len(refused.value.message) < 500


@given(st.text(max_size=60) | st.lists(st.sampled_from(["..", ".", "a", "", "~", ".git"]), max_size=12).map("/".join))
def test_whatever_is_accepted_has_no_dots_slashes_or_nul_left(path: str) -> None:
    try:
        parts = lexical_parts(path, ROOT)
    except OutsideWorkspace:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)


@pytest.mark.parametrize(
    "name",
    [".git", ".GIT", ".Git", ".git.", ".git ", "git~1", "GIT~1", ".g\u200cit", ".git::$INDEX_ALLOCATION", "．git"],
)
def test_every_spelling_of_dot_git_counts_at_any_depth(name: str) -> None:
    assert is_git_control((name,))
    assert is_git_control(("sub", name, "config"))


@pytest.mark.parametrize("name", [".gitignore", ".github", "git", "x.git", ".gitattributes"])
def test_neighbours_of_dot_git_are_ordinary_files(name: str) -> None:
    assert not is_git_control((name,))


@given(st.text())
def test_a_shown_path_is_printable_and_bounded(path: str) -> None:
    assert shown(path).isprintable() and len(shown(path)) <= 201
