# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The XML helpers that format readers share."""

from __future__ import annotations

import pytest

from worldline._src.errors import SceneError
from worldline._src.scene.formats.xml import (
    MOST_NOTES,
    Attributes,
    Element,
    Layers,
    Log,
    number,
    numbers,
    parse,
)
from worldline._src.scene.limits import Limits


def test_elements_remember_line_path_and_file() -> None:
    root = parse("<a>\n <b/>\n <c><b x='1'/>\n<b/></c></a>", file_path="f.xml")
    second = root.children[1].children[1]
    assert (second.file, second.line, second.path) == ("f.xml", 4, "a/c[0]/b[1]")
    assert [element.tag for element in root.walk()] == ["a", "b", "c", "b", "b"]
    assert root.find("c") is root.children[1]
    assert len(root.all("b")) == 1


def test_lines_beyond_16_bits_are_right() -> None:
    # again and again: without the blanks between elements the parser has no lines beyond 16 bits, or chance ones
    for _ in range(20):
        root = parse("<a>" + "\n" * 70_000 + "<b/></a>")
        assert root.children[0].line == 70_001


def test_comments_instructions_and_declared_encodings_do_not_matter() -> None:
    text = "\ufeff<?xml version='1.0' encoding='latin-1'?><!-- <!DOCTYPE x> --><a>1<!-- c -->2<?p i?><b/></a>"
    root = parse(text)
    assert (root.text, len(root.children)) == ("12", 1)


def test_undeclared_prefixes_are_kept_as_they_are() -> None:
    assert parse("<x:a y:b='1'/>").attributes == {"y:b": "1"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "<a",
        "<a></b>",
        "<a/><b/>",
        "<a b='1' b='2'/>",
        "<a>&b;</a>",
        "<a><!DOCTYPE b></a>",
        "<!--",
        "<?",
        "<!DOCTYPE a><a/>",
        "<!-- x --> <!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
        "<a>\x01</a>",
        "plain",
    ],
)
def test_what_is_not_xml_or_could_expand_is_refused(text: str) -> None:
    with pytest.raises(SceneError):
        parse(text)


def test_copies_know_where_the_originals_stand() -> None:
    original = parse("<a>\n<b><c/></b></a>").children[0]
    copy = original.copy()
    copy.attributes["x"] = "1"
    assert not original.attributes
    assert (copy.children[0].path, copy.line) == ("a/b[0]/c[0]", 2)


def test_values_come_from_the_element_then_from_its_layers() -> None:
    log = Log()
    layers = Layers([Element("g", {"size": "1 2 3", "kind": "box"}), Element("g", {"size": "4"})])
    a = Attributes(Element("g", {"size": "5 6", "flag": "true", "n": "7"}), log, layers)
    assert a.reals("size", 1, 3) == [5.0, 6.0, 3.0]
    assert a.choice("kind", {"box": 1}) == 1
    assert (a.flag("flag"), a.integer("n"), a.real("x", 2.5)) == (True, 7, 2.5)
    assert a.holder("kind") is layers[0]
    assert list(a.unread()) == []
    assert not log.problems


def test_malformed_values_are_noted_where_they_stand_and_the_default_is_used() -> None:
    log = Log()
    layer = Element("default", {"size": "x"}, line=3)
    a = Attributes(Element("g", {"n": "1.5", "flag": "yes", "k": "bx"}, line=7), log, [layer])
    assert a.reals("size", 1, 3, default=(1.0,)) == [1.0]
    assert (a.integer("n", 4), a.flag("flag", False), a.choice("k", {"box": 1}, 0)) == (4, False, 0)
    assert [problem.line for problem in log.problems] == [3, 7, 7, 7]
    assert "did you mean 'box'?" in log.problems[-1].message
    with pytest.raises(SceneError, match="4 problems"):
        log.raise_any()


def test_attributes_that_nobody_read_are_told() -> None:
    log = Log()
    a = Attributes(Element("g", {"sise": "1", "user": "2", "fine": "3"}), log)
    a.real("size")
    a.finish(ignored={"user": "no place"}, also=["fine"])
    assert log.problems[0].message == "unknown attribute 'sise'; did you mean 'size'?"
    assert [entry.message for entry in log.report] == ["attribute 'user': no place"]


def test_problems_and_notes_are_bounded_and_told_once() -> None:
    log = Log(limits=Limits(problems=3))
    element = Element("g")
    for _ in range(5):
        log.problem(element, "same")
        log.left_out(element, "same")
    assert (len(log.problems), len(log.report)) == (1, 1)
    for count in range(2 * MOST_NOTES):
        log.left_out(element, f"note {count}")
    assert len(log.report) == MOST_NOTES + 1
    log.problem(element, "second")
    with pytest.raises(SceneError, match="at least 3 problems"):
        log.problem(element, "third")


@pytest.mark.parametrize("text", ["", "x", "1_0", "nan", "1 2", "0x1", "1" * 500])
def test_words_that_are_no_numbers(text: str) -> None:
    assert number(text) is None


def test_infinite_numbers_only_where_allowed() -> None:
    assert number("inf") is None
    assert number("-inf", infinite=True) == float("-inf")
    assert number("nan", infinite=True) is None


def test_long_lists_of_numbers() -> None:
    assert numbers(" 1\n2.5 -3e2 ").tolist() == [1.0, 2.5, -300.0]  # type: ignore[union-attr]
    assert [numbers(text) for text in ("1 x", "1 nan", "1,2", "1 inf")] == [None] * 4
