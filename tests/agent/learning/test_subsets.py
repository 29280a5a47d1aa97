"""Named subsets: what is read, what is picked, and how a broken one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.learning.questions import Pair, QuestionFileError
from agent.learning.subsets import Subset, read_subset

PAIRS = tuple(Pair(name, "q", "SELECT 1", (), False, "", "", "en", 1) for name in ("a", "b", "c"))


def test_a_subset_is_read_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "few.toml"
    path.write_bytes(b'\xef\xbb\xbf# a comment\r\ntraining = ["c", "a"]\r\nholdout = [\r\n  "x",\r\n]\r\n')
    assert read_subset(path) == Subset(("c", "a"), ("x",))


def test_each_part_is_picked_from_its_file_in_the_order_of_the_file() -> None:
    subset = Subset(("c", "a"), ("b",))
    assert [pair.id for pair in subset.of(PAIRS, "training")] == ["a", "c"]
    assert subset.of(PAIRS, "holdout") == (PAIRS[1],)


@pytest.mark.parametrize(
    ("subset", "told"),
    [
        (Subset(("a", "z"), ()), "training questions of the subset name the id 'z', but the file of 3 questions"),
        (Subset(("y", "a", "z"), ()), "name the ids 'y', 'z', but"),
    ],
)
def test_an_id_that_is_in_no_file_is_named(subset: Subset, told: str) -> None:
    with pytest.raises(QuestionFileError, match="Give the question file that the subset was drawn from") as error:
        subset.of(PAIRS, "training")
    assert told in str(error.value)
    assert subset.of(PAIRS, "holdout") == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('training = ["a"]', "holdout is no list of ids. Write training ="),
        ('training = []\nholdout = ["a"]', "training is no list of ids. Write training ="),
        ('training = ["a", 7]\nholdout = ["b"]', "training is no list of ids"),
        ('training = "a"\nholdout = ["b"]', "training is no list of ids"),
        ('training = ["a", "b", "a"]\nholdout = ["c"]', "training names 'a' twice. Keep one of them"),
        ('training = ["a"]\nholdout = ["a"]', "'a' stands in training and in holdout. Keep it in one of them"),
        ('training = ["a"]\nholdout = ["b"]\ntrain = ["c"]', "'train' is no part of a subset"),
        ("training = [", "cannot be read: "),
        ("training: a", "cannot be read: "),
    ],
)
def test_a_broken_subset_says_how_to_mend_it(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(QuestionFileError) as error:
        read_subset(path)
    assert f"{path}" in str(error.value) and told in str(error.value)


def test_a_subset_that_is_missing_a_folder_or_not_utf8_says_so(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'training = ["\xff"]')
    for path, what in ((tmp_path / "none.toml", "No such file"), (tmp_path, "it is a folder"), (binary, "0xff")):
        with pytest.raises(QuestionFileError, match=rf"cannot be read: .*{what}.* Write training ="):
            read_subset(path)
