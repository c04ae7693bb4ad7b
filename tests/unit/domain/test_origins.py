"""The algebra of origins: a join that only grows, is bounded, and drops nothing."""

from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.origins import (
    IMPORT,
    MODEL,
    MOST_OF_A_CLASS,
    PERSON,
    WORKSPACE,
    Origins,
    class_of,
    condensed,
    digest,
    is_origin,
    join,
    origin_of,
    passage_around,
    read_origins,
    unvouched,
    written_by_model,
)
from support.spec import proves

SUBJECTS = st.integers(0, 3 * MOST_OF_A_CLASS).map(str)
ORIGIN = st.one_of(
    st.sampled_from([PERSON, MODEL, WORKSPACE, IMPORT]),
    st.builds(origin_of, st.sampled_from(["web", "git", "mcp", "delegate", "attachment"]), SUBJECTS),
)
SETS = st.lists(ORIGIN, max_size=200).map(join)


def covers(large: Origins, origin: str) -> bool:
    return origin in large or f"{class_of(origin)}:*" in large


@proves("ORG-1/1")
@given(SETS, SETS, SETS)
def test_a_join_is_associative_commutative_idempotent_and_covers_both_sides(a: Origins, b: Origins, c: Origins) -> None:
    assert join(a, join(b, c)) == join(join(a, b), c)
    assert join(a, b) == join(b, a) and join(a, a) == a
    assert all(covers(join(a, b), origin) for origin in (*a, *b))


@proves("ORG-1/1")
@given(st.lists(ORIGIN, max_size=500))
def test_a_set_stays_small_and_what_is_not_vouched_for_never_vanishes(many: list[str]) -> None:
    joined = join(many)
    assert len(joined) <= 5 * MOST_OF_A_CLASS + 4
    foreign = unvouched(many, trusts_contents=False)
    assert bool(foreign) == bool(unvouched(joined, trusts_contents=False))
    assert all(covers(frozenset(condensed(joined)), origin) for origin in many)


@proves("ORG-1/1")
@given(SETS)
def test_a_stored_set_comes_back_and_what_a_model_writes_carries_what_it_read(origins: Origins) -> None:
    assert read_origins(sorted(origins)) == origins
    assert written_by_model(origins) >= {MODEL} and written_by_model(origins) >= origins - {PERSON}
    assert digest(origins) == digest(sorted(origins, reverse=True))


def test_ten_thousand_hosts_become_their_class_and_stay_unvouched() -> None:
    joined = join((f"web:h{number}.example" for number in range(10_000)), (PERSON, "mcp:mail"))
    assert joined == {"web:*", PERSON, "mcp:mail"}
    assert unvouched(joined, trusts_contents=True) == {"web:*", "mcp:mail"}


@given(st.text(max_size=2_000))
def test_no_subject_names_a_whole_class_or_cannot_be_read_back(subject: str) -> None:
    origin = origin_of("web", subject)
    assert origin != "web:*" and is_origin(origin) and read_origins([origin]) == {origin}


def test_stored_words_that_are_no_origins_count_as_imported() -> None:
    assert read_origins(["person", "trusted", 7, "web:"]) == {PERSON, IMPORT}
    assert read_origins("person") == frozenset()


@given(st.text(), st.integers(0, 5_000))
def test_a_passage_is_bounded_and_a_part_of_the_text(text: str, position: int) -> None:
    passage = passage_around(text, position)
    assert len(passage) <= 402 and passage.strip("…").strip() in text
