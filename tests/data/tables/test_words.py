"""Columns of texts whose words are learned from: which words, in new rows too, and what people see of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pencil
from pencil.config import DataSettings
from pencil.data import Dataset, Request, from_hugging_face, read
from pencil.data.shown import show
from pencil.data.tables import words as module
from pencil.data.tables.words import MOST_WORDS, word_features, words_in
from pencil.errors import PencilError

GOOD, BAD = ("a lovely film indeed", "what a lovely play"), ("a dreadful film indeed", "what a dreadful play")
QUICK: dict[str, Any] = {"settings": {"hardware": {"device": "cpu", "threads": 1}}, "epochs": (4, 2, 2)}


def reviews(folder: Path, count: int = 120) -> Path:
    """A table of texts of which no two are alike, and one word tells the class."""
    rng = np.random.default_rng(0)
    lines = ["review,stars,label"]
    for row in range(count):
        kind = int(rng.integers(2))
        text = (GOOD, BAD)[kind][int(rng.integers(2))]
        lines.append(f'"{text.capitalize()}, no. w{row}",{row % 3},{"good" if kind == 0 else "bad"}')
    path = folder / "reviews.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def opened(path: Path, **options: Any) -> Dataset:
    return read(DataSettings(source=str(path), options=options))


@pytest.mark.parametrize(
    ("text", "words"),
    [("It's GOOD, good; 7 out of 10!", {"it", "s", "good", "7", "out", "of", "10"}), ("", set()), ("— …", set()),
     ("Écru straße", {"écru", "straße"}), ("snake_case", {"snake", "case"}),
     ("映画はgoodだ", {"映", "画", "は", "good", "だ"}), ("좋은 영화", {"좋은", "영화"})],
)  # fmt: skip
def test_words_of_any_script(text: str, words: set[str]) -> None:
    assert words_in(text) == words


def test_words_that_several_rows_have_are_features() -> None:
    texts = ["red red wine", "Red wine.", "white WINE", "red", None, "rosé"]
    rows, titles = word_features(pa.table({"about": texts}), "about")
    assert titles == ["about~red", "about~wine"]
    assert rows.tolist() == [[1, 1], [1, 1], [0, 1], [1, 0], [0, 0], [0, 0]]
    many = pa.table({"about": [" ".join(f"w{word}" for word in range(MOST_WORDS + 5)) + " often"] * 3 + ["often"]})
    titles = word_features(many, "about")[1]
    assert len(titles) == MOST_WORDS and titles[0] == "about~often", "the most frequent ones"


def test_of_very_many_texts_fewer_words_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 25)
    rows, titles = word_features(pa.table({"about": ["red white wine"] * 9 + ["wine"]}), "about")
    assert rows.shape == (10, 2) and titles == ["about~wine", "about~red"]


def test_texts_alone_are_learned_from_by_their_words(tmp_path: Path) -> None:
    path = reviews(tmp_path)
    dataset = opened(path, ignore=["stars"])
    assert dataset.facts["left_out"] == 'of the column "review" the words are learned from.'
    features = dataset.facts["features"]
    assert {"review~lovely", "review~dreadful"} < set(features) and "review~w7" not in features
    result = pencil.fit(path, out=tmp_path / "run", **_with(QUICK, ignore=["stars"]))
    new = tmp_path / "new.csv"
    new.write_text("review\nnever seen but lovely\nDREADFUL!\n")
    assert result.predict(new).tolist() == ["good", "bad"]
    assert "of the column" in (tmp_path / "run" / "log.txt").read_text()


def test_beside_other_columns_words_are_learned_from_where_they_are_named(tmp_path: Path) -> None:
    path = reviews(tmp_path)
    plain = opened(path)
    assert plain.facts["features"] == ["stars"]
    assert plain.facts["left_out"].endswith(
        'To learn from the words of the column "review": --set data.options.words=review.'
    )
    both = opened(path, words="review")
    assert both.facts["features"][0] == "stars" and "review~lovely" in both.facts["features"]
    seen = show(both, [str(name) for name in both.train.ids[:1]], longest=10)[0]
    assert [name for name, _ in seen] == ["review", "stars"], "people read the text, not which words it has"


def test_hugging_face_texts_are_learned_from_by_their_words(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = opened(reviews(tmp_path), words="review")
    source = datasets.load_dataset("csv", data_files=str(tmp_path / "reviews.csv"), cache_dir=str(tmp_path / "hf"))
    found = from_hugging_face(source, Request(options={"words": "review"}))
    assert found.facts["features"] == rows.facts["features"]
    assert found.train.texts is not None and found.train.texts["review"][0].endswith("w0")


@pytest.mark.parametrize(
    ("options", "line"),
    [({"words": "stars", "ignore": "review"}, 'no word of the column "stars" is in 3 rows or more'),
     ({"words": "revue"}, r'no column "revue". Did you mean "review"'),
     ({"words": "review", "ignore": "review"}, "named by the options ignore and words")],
)  # fmt: skip
def test_what_cannot_be_read_by_words_is_named(tmp_path: Path, options: dict[str, Any], line: str) -> None:
    with pytest.raises(PencilError, match=line):
        opened(reviews(tmp_path, count=2 if "stars" in line else 40), **options)


def test_columns_of_numbers_have_no_words() -> None:
    with pytest.raises(PencilError, match='the column "stars" is int64, not texts'):
        word_features(pa.table({"stars": [1, 2, 2, 2]}), "stars")


@pytest.mark.parametrize("text", ["K. Smith{row}", "{row:02}.04.2026", "{row}/4/2026 17:05"])
def test_names_dates_and_numbers_of_something_are_no_texts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name,label\n" + "".join(f"{text.format(row=row)},{row % 2}\n" for row in range(60)))
    with pytest.raises(PencilError, match="nothing else to learn from"):
        opened(path)


def _with(how: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {**how, "settings": {**how["settings"], "data": {"options": options}}}
