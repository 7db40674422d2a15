from __future__ import annotations

import pytest

from bagnoise.recipe.problems import RecipeError
from bagnoise.recipe.stream_text import parse_stream


def test_the_whole_form() -> None:
    name, stream = parse_stream("/points | noise std_m=0.1 | classes keep=[blue] -> /x/y as a/B")
    assert name == "x_y"
    assert stream == {
        "source": "/points",
        "steps": [{"noise": {"std_m": 0.1}}, {"classes": {"keep": ["blue"]}}],
        "target": "/x/y",
        "type": "a/B",
    }


def test_spaces_around_separators_do_not_matter() -> None:
    assert parse_stream("/p|drop keep_every=2->/q") == parse_stream(
        "  /p | drop keep_every=2 -> /q "
    )


def test_a_topic_with_spaces_is_quoted() -> None:
    assert parse_stream("'/a b' | drop")[1]["source"] == "/a b"


def test_without_target_the_name_is_the_sources() -> None:
    name, stream = parse_stream("/cones | latency mean_s=0.1")
    assert name == "cones"
    assert "target" not in stream


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected one source topic, got 'none'"),
        ("/a /b | noise", "expected one source topic, got '/a /b'"),
        ("/a | | noise", "a step is missing"),
        ("/a | noise 5", "expected option=value after step 'noise', got '5'"),
        ("/a -> ", "after '->'"),
        ("/a -> /b /c", "after '->'"),
        ("/a -> /b as", "after '->'"),
        ("/a | 'x", "No closing quotation"),
    ],
)
def test_what_is_not_understood_is_named(text: str, expected: str) -> None:
    with pytest.raises(RecipeError, match="--stream") as caught:
        parse_stream(text)
    assert expected in str(caught.value)


def test_an_option_given_twice_is_an_error() -> None:
    with pytest.raises(RecipeError, match="'latency' is given mean_s twice"):
        parse_stream("/a | latency mean_s=1 mean_s=2 -> /b")
