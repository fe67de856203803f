"""Tables of features or of image paths."""

import io
import re
import tracemalloc
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from pencil.config import DataSettings
from pencil.data import read, tables
from pencil.data.load import original_files
from pencil.errors import PencilError


def csv(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    return tmp_path / "t.csv"


def test_numbers_and_texts_become_features(load_data, tmp_path):
    path = csv(tmp_path, "age,colour,old,target\n1,red,true,yes\n2,blue,false,no\n3.5,red,true,\n4,,false,yes\n")
    data = load_data(path, held_out=0.0)
    assert data.facts["features"] == ["age", "colour=", "colour=blue", "colour=red", "old"]
    np.testing.assert_allclose(data.train.inputs.array[2], [3.5, 0, 0, 1, 1])
    assert data.class_names == ("no", "yes") and data.train.given.tolist() == [1, 0, -1, 1]


def test_parquet_with_named_columns(load_data, tmp_path):
    columns = {
        "key": ["p", "q", "r", "s"],
        "a": [1.0, 2, 3, 4],
        "b": [1, 1, 2, 2],
        "kind": [3, 7, 3, 7],
        "truth": [3, 7, 7, 7],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    options = {"label": "kind", "id": "key", "features": ["a"], "clean": "truth"}
    data = load_data(tmp_path / "t.parquet", options=options, held_out=0.0)
    assert data.train.ids.tolist() == list("pqrs") and data.preparation.raw_shape == (1,)
    assert data.class_names == ("3", "7") and data.train.clean.tolist() == [0, 1, 1, 1]


def test_columns_may_be_called_by_numbers(load_data, tmp_path):
    path = csv(tmp_path, "0,1,2\n1,5,a\n2,6,b\n3,7,a\n")
    assert load_data(path, options={"label": 2, "features": [1]}, held_out=0.0).facts["features"] == ["1"]
    data = load_data(path, options={"label": 2, "features": 0}, held_out=0.0)
    assert data.facts["features"] == ["0"] and data.class_names == ("a", "b")


def test_images_by_path_and_sets_by_column(fakes, load_data, tmp_path):
    for place, image in enumerate(fakes.pixels(5, 16)):
        fakes.save_image(tmp_path / "in" / f"{place}.png", image)
    sets = ("train", "test", "train", "val", "train")
    lines = "".join(f"in/{n}.png,{'ab'[n % 4 // 2]},{word}\n" for n, word in enumerate(sets))
    data = load_data(csv(tmp_path, "path,label,split\n" + lines))
    assert data.train.ids.tolist() == ["in/0.png", "in/2.png", "in/4.png"] and data.held_out.ids.tolist() == [
        "in/3.png"
    ]
    np.testing.assert_array_equal(data.test.inputs.read(np.array([0]))[0], fakes.pixels(5, 16)[1])
    assert data.preparation.kind == "images" and data.default_backbone == "small_cnn"


def test_a_row_without_an_image_is_named_wherever_it_is(load_data, tmp_path):
    for row in (0, 1):
        paths = [None if place == row else f"photos/{place}" for place in range(3)]
        table = pa.table({"path": paths, "width": [5, 7, 6], "label": ["x", "y", "x"]})
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(PencilError, match=f'row {row + 1}, column "path" is empty'):
            load_data(tmp_path / "t.parquet")


def test_soft_labels_votes_and_annotators(load_data, tmp_path):
    path = csv(tmp_path, "x,cat,dog,p1,p2,p3\n1,1,3,dog,dog,cat\n2,4,0,cat,,\n3,0,0,,,\n4,1,1,cat,dog,cat\n")
    votes = load_data(path, options={"votes": ["cat", "dog"], "features": "x"}, held_out=0.0)
    np.testing.assert_allclose(votes.train.distribution, [[0.25, 0.75], [1, 0], [0, 0], [0.5, 0.5]])
    people = load_data(path, options={"annotators": "p1, p2, p3", "features": "x"}, held_out=0.0)
    np.testing.assert_allclose(
        people.train.distribution[[0, 1, 3]], [[1 / 3, 2 / 3], [1, 0], [2 / 3, 1 / 3]], rtol=1e-6
    )
    soft = csv(tmp_path, "x,cat,dog\n1,0.2,0.8\n2,1.0,0.0\n")
    data = load_data(soft, options={"soft": ["cat", "dog"]}, held_out=0.0)
    assert data.train.given.tolist() == [1, 0] and data.class_names == ("cat", "dog")
    assert data.facts["features"] == ["x"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,label\n1,x\n2,y\n", {"label": "lable"}, 'no column "lable". Did you mean "label"'),
        (
            "a,kind\n1,x\n2,y\n",
            {},
            r"no column called label, target, class or y; name the one of the labels \(of a, kind\) by"
            r' settings={"data": {"options": {"label": "NAME"}}}\.$',
        ),
        ("a,label\n1,x\n2,y\n", {"id": "label"}, '"label" is named by the option id, and no other is called label'),
        ("a,y\n1,x\n2,y\n", {"features": "a,y"}, '"y" is named by the option features, and no other is called label'),
        ("a,label\n1,x\n2,y\n", {"size": 64}, "option size is of no use: the table has no images; leave it out"),
        ("a,label\n1,x\n2,y\n", {"crop": 8}, "option crop is of no use"),
        ("0.5,1,cat\n1,2,dog\n", {}, r"has numbers \(0\.5, 1\); if it is one of data, put a row of names above it"),
        (
            "a,kind\n1,x\n2,y\n",
            {"label": "kind", "features": "a,kind"},
            r'"kind" holds labels .* option features names',
        ),
        ("a,kind\n1,x\n2,y\n", {"label": "kind", "id": "kind"}, '"kind" holds labels .* option id names it too'),
        ("a,b,c\n1,1,0\n2,0,1\n", {"votes": "b,c", "words": "c"}, '"c" holds labels .option votes.* words names it'),
        ("a,label,t\n1,x,x\n2,y,y\n", {"clean": "t", "features": "a,t"}, '"t" holds labels .option clean'),
        ("a,label\n1,x\ninf,y\n", {}, "row 2, column a is inf"),
        ("a,label\n1,0.5\n2,1\n", {}, r"row 1 is 0\.5, not a whole number"),
        ("a,label\n1,1.25e+00\n2,3.5e-03\n", {}, r"row 1 is 1\.25, not a whole number"),
        ("a,label\n1,x\n2,y,z\n", {}, "cannot be read as a table"),
        ("", {}, "cannot be read as a table"),
        ("a,label\n", {}, "has no rows"),
        ("id,a,label\nk,1,x\nk,2,y\n", {}, 'id "k" occurs 2 times'),
        ("a,label,split\n1,x,train\n2,y,tset\n", {}, 'row 2, column "split" is "tset"'),
        ("image,label\nnope.png,x\nno.png,y\n", {}, r"nope\.png does not exist"),
        ("image,label\n,x\nno.png,y\n", {"image": "image"}, 'row 1, column "image" is empty'),
        ("a,label\n1,x\n2,x\n", {}, "1 class"),
        ("label\nx\ny\n", {}, "no columns of features"),
        ("a,a,label\n1,1,x\n2,2,y\n", {}, 'two columns called "a"'),
        ("a,label\n1,x\n2,y\n", {"soft": ["a"], "label": "label"}, "named in several ways"),
        ("a,label,target\n1,x,u\n2,y,v\n", {}, 'label and target may each .*"label": "label"'),
        ("a,Class,y\n1,x,u\n2,y,v\n", {"features": ["a"]}, "Class and y may each be the label"),
        ("a;b;label\n1;2;x\n2,5;3;y\n", {}, 't.csv seems to be separated by ";"; separate it by commas.'),
        ("a|b|label\n1|2|x\n2,5|3|y\n", {}, r't.csv seems to be separated by "\|"; separate it by commas.'),
        ("a\tb\tlabel\n1\t2\tx\n2\t3\ty\n", {}, r"t.csv seems to be separated by tabs; call it \.tsv"),
        ("x,cat,dog\n1,0.5,1\n2,1,0\n", {"votes": ["cat", "dog"]}, 'row 1, column "cat" is 0.5; votes are whole'),
    ],
)
def test_wrong_tables_are_refused_by_name(load_data, tmp_path, text, options, message):
    with pytest.raises(PencilError, match=message) as caught:
        load_data(csv(tmp_path, text), options=options)
    assert str(tmp_path) in str(caught.value) or "t has 1 class" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_that_count_columns_are_names(load_data, tmp_path):
    with pytest.raises(PencilError, match=r'"label": "NAME"}}}\.$'):
        load_data(csv(tmp_path, "0,1,2\n1,5,a\n2,6,b\n"))


def test_text_that_is_not_utf8(load_data, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,label\n1,caf\xe9\n2,y\n")
    with pytest.raises(PencilError, match=r"UTF-8"):
        load_data(tmp_path / "t.csv")


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "latin-1"])
def test_a_table_in_another_code_is_refused_as_such(load_data, tmp_path, code):
    (tmp_path / "t.csv").write_text("größe,label\n1,a\n2,b\n", encoding=code)
    with pytest.raises(PencilError, match=r"t\.csv is not UTF-8 text; save the file as UTF-8\."):
        load_data(tmp_path / "t.csv")


def test_decimals_are_numbers(load_data, tmp_path):
    prices = [Decimal("1.25"), Decimal("2.00"), Decimal("3.50"), Decimal("-4.10")]
    table = pa.table({"price": prices, "size": [1, 2, 3, 4], "label": list("abab")})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    rows = load_data(tmp_path / "t.parquet", held_out=0.0).train.inputs.array
    np.testing.assert_allclose(rows[:, 0], [1.25, 2, 3.5, -4.1])


def test_a_damaged_parquet_file(load_data, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(PencilError, match=r"t\.parquet cannot be read as a table"):
        load_data(tmp_path / "t.parquet")


def test_a_parquet_file_whose_description_contradicts_itself(warm, tmp_path):
    """Asked naively, pyarrow ends the whole process here, so it is read in one of its own."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]})
    pa.parquet.write_table(table, path, compression="none", store_schema=False, write_statistics=False)
    optional, required = b"\x25\x02\x18\x01a", b"\x25\x00\x18\x01a"
    assert path.read_bytes().count(optional) == 1
    path.write_bytes(path.read_bytes().replace(optional, required))
    read = warm("train", path, "--dry-run")
    _, err = read.communicate(timeout=100)
    assert read.returncode == 2, err
    assert "t.parquet cannot be read as a table" in err


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.int64())], ids=str
)
def test_a_column_of_embeddings_becomes_features(load_data, tmp_path, kind):
    embeddings = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 1, 0]]
    table = pa.table({"embedding": pa.array(embeddings, kind), "age": [1, 2, 3, 4], "label": list("abab")})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    data = load_data(tmp_path / "t.parquet", held_out=0.0)
    assert data.facts["features"] == ["embedding[0]", "embedding[1]", "embedding[2]", "age"]
    np.testing.assert_array_equal(data.train.inputs.array[1], [4, 5, 6, 2])


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ([[1.0, 2.0], [1.0], [1.0, 2.0]], r'row 2, column "v" has 1 numbers, others have 2'),
        ([[], [1.0], []], r'row 1, column "v" has 0 numbers, others have 1'),
        ([[1.0, 2.0], None, [1.0, 2.0]], r'row 2, column "v" has 0 numbers'),
        ([[1.0, 2.0], [np.inf, 2.0], [1.0, 2.0]], r"row 2, column v\[0\] is inf"),
        ([["a"], ["b"], ["c"]], "neither numbers nor texts"),
    ],
)
def test_embeddings_that_do_not_fit_are_named(load_data, tmp_path, embeddings, message):
    pa.parquet.write_table(pa.table({"v": embeddings, "label": [0, 1, 0]}), tmp_path / "t.parquet")
    with pytest.raises(PencilError, match=message):
        load_data(tmp_path / "t.parquet", held_out=0.0)


def test_a_number_of_a_list_may_be_missing(load_data, tmp_path):
    table = pa.table({"v": [[1.0, 2.0], [None, 2.0], [1.0, 2.0], [3.0, 4.0]], "label": list("abab")})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    data = load_data(tmp_path / "t.parquet", held_out=0.0)
    assert np.isnan(data.train.inputs.array).tolist() == [[False] * 2, [True, False], [False] * 2, [False] * 2]
    assert 'one cell of the column "v[0]" is empty' in data.facts["missing"]


@pytest.mark.parametrize(
    ("cells", "classes", "given"),
    [
        (["1", "0", "10", ""], ("0", "1", "10"), [1, 0, 2, -1]),
        (["1.0", "0.0", "", "1.0"], ("0", "1"), [1, 0, -1, 1]),
        ([" 1", "0", "", "1"], ("0", "1"), [1, 0, -1, 1]),
        (["1e3", "1000", "", "2.000E+00"], ("2", "1000"), [1, 1, -1, 0]),
        (["1.00", "2.", "", "+1"], ("1", "2"), [0, 1, -1, 0]),
        (
            ["9007199254740993.0", "9007199254740992", "", "1"],
            ("1", "9007199254740992", "9007199254740993"),
            [2, 1, -1, 0],
        ),
        (["1e30", "1", "1", "1"], ("1", "1e30"), [1, 0, 0, 0]),
        (["-1", "0", "1", ""], ("-1", "0", "1"), [0, 1, 2, -1]),
        (["-1", "1", "1", "-1"], ("-1", "1"), [0, 1, 1, 0]),
        (["007", "012", "", "007"], ("007", "012"), [0, 1, -1, 0]),
        (["7", "007", "07", "7"], ("007", "07", "7"), [2, 0, 1, 2]),
        (["True", "False", "", "True"], ("False", "True"), [1, 0, -1, 1]),
        (["1", "2.0", "None", "-"], ("1", "-", "2.0", "None"), [0, 2, 3, 1]),
        (["1.50", "a", "1.5", "a"], ("1.5", "1.50", "a"), [1, 2, 0, 2]),
        (["²", "--1", "1", "²"], ("1", "--1", "²"), [2, 1, 0, 2]),
        (["99999999999999999999", "1", "1", "1"], ("1", "99999999999999999999"), [1, 0, 0, 0]),
    ],
)
def test_labels_are_what_was_spelled(load_data, tmp_path, cells, classes, given):
    """Whole numbers are told apart by their value only where all cells are such; −1 is a class like any other."""
    rows = "".join(f"{place},{cell},{cell}\n" for place, cell in enumerate(cells))
    data = load_data(csv(tmp_path, "a,label,truth\n" + rows), options={"clean": "truth"}, held_out=0.0)
    assert data.class_names == classes and data.facts["features"] == ["a"]
    assert data.train.given.tolist() == data.train.clean.tolist() == given


@pytest.mark.parametrize("ids", [["1.1", "1.10"], ["00", "01"], ["True", "false"], ["2020-01-02 00:00", "2020-01-02"]])
def test_ids_are_what_was_spelled(load_data, tmp_path, ids):
    path = csv(tmp_path, f"id,a,label\n{ids[0]},1,x\n{ids[1]},2,y\n")
    assert load_data(path, held_out=0.0).train.ids.tolist() == ids


def test_a_column_may_name_the_rows_and_be_a_feature(load_data, tmp_path):
    path = csv(tmp_path, "a,b,label\n1,2,x\n2,2,y\n")
    data = load_data(path, options={"features": ["a"], "id": "a"}, held_out=0.0)
    assert data.train.ids.tolist() == ["1", "2"] and data.facts["features"] == ["a"]


def test_a_column_without_a_name_stays_what_it_was(load_data, tmp_path):
    data = load_data(csv(tmp_path, ",a,label,id\n0,1,x,p\n1,2,y,q\n"), options={"features": ["", "a"]}, held_out=0.0)
    assert data.facts["features"] == ["", "a"]


@pytest.mark.parametrize("values", [[-1, 1, None, -1], [-1.0, 1.0, float("nan"), -1.0]])
def test_minus_one_is_a_class_of_a_parquet_file(load_data, tmp_path, values):
    pa.parquet.write_table(pa.table({"a": [1, 2, 3, 4], "label": values}), tmp_path / "t.parquet")
    data = load_data(tmp_path / "t.parquet", held_out=0.0)
    assert data.class_names == ("-1", "1") and data.train.given.tolist() == [0, 1, -1, 0]


def test_annotators_may_have_answered_nothing(load_data, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,p1,p2\n1,,\n2,,\n")
    with pytest.raises(PencilError, match="no classes; training needs at least two"):
        load_data(path, options={"annotators": "p1,p2"})


def test_annotators_may_answer_minus_one(load_data, tmp_path):
    path = csv(tmp_path, "x,p1,p2\n1,-1,1\n2,-1,\n3,1,1\n")
    data = load_data(path, options={"annotators": "p1,p2"}, held_out=0.0)
    assert data.class_names == ("-1", "1")
    np.testing.assert_allclose(data.train.distribution, [[0.5, 0.5], [1, 0], [0, 1]])


def test_other_columns_that_look_like_labels_may_have_another_use(load_data, tmp_path):
    path = csv(tmp_path, "a,label,y,class\n1,x,x,3\n2,y,y,4\n")
    data = load_data(path, options={"clean": "y", "features": "a,class"}, held_out=0.0)
    assert data.class_names == ("x", "y") and data.facts["features"] == ["a", "class"]


def test_ids_that_are_not_utf8(load_data, tmp_path):
    (tmp_path / "t.csv").write_bytes(b"id,a,label\ncaf\xe9,1,x\nb,2,y\n")
    with pytest.raises(PencilError, match=r'"id" is not UTF-8'):
        load_data(tmp_path / "t.csv")


def test_true_labels_may_be_missing_where_none_are_needed(tmp_path):
    how = DataSettings(source=str(csv(tmp_path, "a\n1\n2\n")), options={"clean": "truth", "label": "kind"})
    assert read(how, labels_needed=False).train.clean is None


@pytest.mark.parametrize(("way", "columns"), [("annotators", "p,q"), ("votes", "p,r")])
def test_a_label_beside_several_is_not_learned_from(load_data, tmp_path, way, columns):
    path = tmp_path / "t.csv"
    path.write_text("x,p,q,r,label\n" + "".join(f"{i},{i % 2},{i % 2},{1 - i % 2},{i % 2}\n" for i in range(40)))
    with pytest.raises(PencilError, match=rf'label may be the label that {way} gives.*"features": …'):
        load_data(path, options={way: columns})
    data = load_data(path, options={way: columns, "features": "x"}, held_out=0.0)
    assert data.facts["features"] == ["x"]


BROKEN = ["n.a.", "12o", '"9,062"', "9_062", "9'062", "9 062", "50%", "€ 5", "9\u202f062"]


@pytest.mark.parametrize("cell", BROKEN)
def test_a_column_of_numbers_with_a_cell_that_is_none_is_refused(load_data, tmp_path, cell):
    path = csv(tmp_path, f"a,size,label\n1,1.5,x\n2,,y\n3,-2e3,x\n4,{cell},y\n")
    message = f'the column "size" of {path} holds numbers, but "{cell.strip(chr(34))}" in row 4 is none; mend it'
    for options in ({}, {"features": "a,size"}):
        with pytest.raises(PencilError) as caught:
            load_data(path, options=options, held_out=0.0)
        assert str(caught.value).startswith(message)
    assert load_data(path, options={"features": "a"}, held_out=0.0).facts["features"] == ["a"]


def test_texts_that_are_hardly_numbers_or_all_of_them_stay_texts(load_data, tmp_path):
    few = load_data(csv(tmp_path, "k,label\n1,x\nA,y\nB,x\n"), held_out=0.0)
    assert few.facts["features"] == ["k=1", "k=A", "k=B"]
    for texts, expected in ((["1", "2", "1"], ["k=1", "k=2"]), (["1", "n.a.", "1"], None)):
        pa.parquet.write_table(pa.table({"k": texts, "label": ["x", "y", "x"]}), tmp_path / "t.parquet")
        if expected:
            assert load_data(tmp_path / "t.parquet", held_out=0.0).facts["features"] == expected
            continue
        with pytest.raises(PencilError, match=r'but "n\.a\." in row 2 is none'):
            load_data(tmp_path / "t.parquet", held_out=0.0)


def test_columns_that_name_rows_are_left_out_unless_they_are_named(load_data, tmp_path):
    rows = [f"{2 * n},Name {n},note {max(n, 8)},town {n // 2},{n % 2}\n" for n in range(30)]
    path = csv(tmp_path, "a,name,note,town,label\n" + "".join(rows))
    data = load_data(path, held_out=0.0)
    assert data.facts["features"] == ["a", *sorted(f"town=town {n}" for n in range(15))]
    assert data.facts["left_out"] == (
        'the columns "name", "note" have another text in nearly every row and are left out;'
        " name them by data.options.features to use them."
    )
    assert data.train.texts is not None and list(data.train.texts) == ["name", "note"], "people may read them"
    assert data.train.texts["name"][4] == "Name 4" and data.train.take(np.array([4])).texts["note"] == ["note 8"]
    named = load_data(path, options={"features": "name"}, held_out=0.0)
    assert len(named.facts["features"]) == 30 and "left_out" not in named.facts
    assert list(named.train.texts) == ["note", "town"], "neither learned from nor of another use"
    with pytest.raises(PencilError, match=r'"name" of .* has another text .* nothing else to learn from'):
        load_data(csv(tmp_path, "name,label\n" + "".join(f"Name {n},{n % 2}\n" for n in range(30))))
    few = csv(tmp_path, "name,label\n" + "".join(f"Name {n},{n % 2}\n" for n in range(20)))
    assert len(load_data(few, held_out=0.0).facts["features"]) == 20


def test_columns_that_are_empty_are_left_out(load_data, tmp_path):
    rows = [f"{n},Name {n},,{n % 2}\n" for n in range(30)]
    data = load_data(csv(tmp_path, "a,name,z,label\n" + "".join(rows)), held_out=0.0)
    assert data.facts["features"] == ["a"] and list(data.train.texts) == ["name"]
    assert data.facts["left_out"] == (
        'the column "z" is empty and is left out; the column "name" has another text in nearly every row and is left'
        " out; name it by data.options.features to use it."
    )
    many = {"a": [1.0, 2, 3], "n": pa.nulls(3, pa.float64()), "t": ["", None, ""], "label": ["x", "y", "x"]}
    pa.parquet.write_table(pa.table(many), tmp_path / "t.parquet")
    data = load_data(tmp_path / "t.parquet", held_out=0.0)
    assert data.facts["features"] == ["a"]
    assert data.facts["left_out"] == 'the columns "n", "t" are empty and are left out.'


def test_a_date_is_refused_with_the_option_that_leaves_it_out(load_data, tmp_path):
    path = csv(tmp_path, "a,since,label\n1,2024-02-29,x\n2,2024-03-01,y\n")
    with pytest.raises(PencilError, match=r'"since" is date32.* leave it out .*"ignore": "since"'):
        load_data(path, held_out=0.0)
    assert load_data(path, options={"ignore": "since"}, held_out=0.0).facts["features"] == ["a"]
    assert load_data(path, options={"features": "a"}, held_out=0.0).facts["features"] == ["a"]


@pytest.mark.parametrize(
    ("options", "classes", "features"),
    [
        ({"label": "kind", "ignore": "size"}, ("u", "v"), ["label=x", "label=y", "weight"]),
        ({"label": "kind", "ignore": "size,label"}, ("u", "v"), ["weight"]),
        ({"label": "kind", "ignore": ["label"]}, ("u", "v"), ["size", "weight"]),
    ],
)
def test_columns_that_are_ignored_are_nothing_to_a_table(load_data, tmp_path, options, classes, features):
    path = csv(tmp_path, "size,label,kind,weight\n1,x,u,3.5\n2,y,v,4.5\n4,x,u,3.5\n")
    data = load_data(path, options=options, held_out=0.0)
    assert data.class_names == classes and sorted(data.facts["features"]) == features


def test_what_is_ignored_is_neither_label_nor_image_nor_broken(load_data, tmp_path):
    """A second label, paths of images that are not there, numbers with a stray cell: none is looked at."""
    rows = ["1,x,p,no.png,3", "2,y,q,no.png,n.a.", "4,x,p,no.png,5"]
    path = csv(tmp_path, "\n".join(["a,label,target,image,b", *rows]) + "\n")
    data = load_data(path, options={"ignore": "target,image,b"}, held_out=0.0)
    assert data.class_names == ("x", "y") and data.facts["features"] == ["a"]


@pytest.mark.parametrize(
    ("ignore", "message"),
    [
        ("colr", 'no column "colr" to ignore. Did you mean "color"'),
        ("kind", 'the column "kind" is named by the options ignore and label; take it out of one'),
    ],
)
def test_ignoring_what_is_not_there_or_is_needed_is_refused(load_data, tmp_path, ignore, message):
    path = csv(tmp_path, "a,color,kind\n1,3,u\n2,4,v\n")
    with pytest.raises(PencilError, match=message):
        load_data(path, options={"label": "kind", "ignore": ignore}, held_out=0.0)


def test_columns_to_learn_from_are_refused_beside_images_to_learn_from(load_data, tmp_path):
    path = csv(tmp_path, "a,t,image,label\n1,one,no.png,x\n2,two,no.png,y\n")
    with pytest.raises(PencilError, match="image names images to learn from, features and words other columns"):
        load_data(path, options={"image": "image", "features": "a", "words": "t"})
    assert load_data(path, options={"features": "a"}, held_out=0.0).facts["features"] == ["a"]


def test_an_empty_column_alone_or_named_is_refused(load_data, tmp_path):
    alone = csv(tmp_path, "z,label\n,x\n,y\n")
    with pytest.raises(
        PencilError, match=r'the column "z" of .*t\.csv is empty, and there is nothing else to learn from'
    ):
        load_data(alone)
    named = csv(tmp_path, "a,z,label\n1,,x\n2,,y\n")
    with pytest.raises(PencilError, match=r't\.csv: the column "z" is empty; leave it out of features\.'):
        load_data(named, options={"features": "a,z"})


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("is_test", 'the column "is_test" marks rows of a set and is left out; to keep rows apart, name a column that'),
        ("", "a column without a name is left out; name it to use it."),
        ("rownames", 'the column "rownames" numbers the rows and is left out.'),
        ("Unnamed: 0", 'the column "Unnamed: 0" is the index of a data frame and is left out.'),
    ],
)
def test_where_nothing_is_left_to_learn_from_the_line_says_why(load_data, tmp_path, header, why):
    cells = ["0,x", "1,y", "0,x", "1,y"] if header == "is_test" else [f"{n},{'xy'[n % 2]}" for n in range(4)]
    path = csv(tmp_path, "\n".join([f"{header},label", *cells]) + "\n")
    with pytest.raises(PencilError, match="there is nothing to learn from: ") as caught:
        load_data(path, held_out=0.0)
    assert why in str(caught.value) and str(caught.value).endswith("Give other columns.")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("others", [("1", "2"), ("x", "y"), ("True", "False")])
@pytest.mark.parametrize("word", ["NA", "N/A", "n/a", "#N/A", "null", "NULL", "NaN", "nan", " Nan", "#NA"])
def test_a_label_that_may_be_missing_or_a_class_is_refused(load_data, tmp_path, word, others):
    path = csv(tmp_path, f"a,label\n1,{others[0]}\n2,\n3,{others[1]}\n4,{word}\n")
    message = f'{path}: "{word}" in row 4 may be a missing label or a class; leave such cells empty, or rename'
    with pytest.raises(PencilError) as caught:
        load_data(path, held_out=0.0)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("values", [[True, False, None, True], [True, False, False, True]])
def test_truth_values_are_called_alike_in_each_kind_of_file(load_data, tmp_path, values):
    pa.parquet.write_table(pa.table({"a": [1, 2, 3, 4], "label": values}), tmp_path / "t.parquet")
    csv(tmp_path, "a,label\n" + "".join(f"{n},{'' if value is None else value}\n" for n, value in enumerate(values)))
    for name in ("t.parquet", "t.csv"):
        data = load_data(tmp_path / name, held_out=0.0)
        assert data.class_names == ("False", "True")
        assert data.train.given.tolist() == [-1 if value is None else int(value) for value in values]


def test_a_tsv_file_that_is_separated_by_commas(load_data, tmp_path):
    (tmp_path / "t.tsv").write_text("a,label\n1,x\n2,y\n")
    with pytest.raises(PencilError, match=r"t\.tsv seems to be separated by commas; call it \.csv"):
        load_data(tmp_path / "t.tsv")


@pytest.mark.parametrize("words", [("true", "false"), ("1", "0"), ("True", "False")])
def test_marks_of_labels_that_are_known_to_be_right(load_data, tmp_path, words):
    rows = [f"{n},{'xy'[n % 2]},{words[n % 3 > 0]},{'test' if n > 7 else 'train'}\n" for n in range(10)]
    path = csv(tmp_path, "a,label,class,split\n" + "".join(rows))
    data = load_data(path, options={"trusted": "class"}, held_out=0.0)
    assert data.facts["features"] == ["a"]
    assert data.train.trusted.tolist() == [n % 3 == 0 for n in range(8)]
    how = DataSettings(source=str(csv(tmp_path, "a\n1\n2\n")), options={"trusted": "class"})
    assert read(how, labels_needed=False).train.trusted is None


def test_marks_that_are_none_are_refused(load_data, tmp_path):
    path = csv(tmp_path, "a,label,sure\n1,x,yes\n2,y,no\n")
    with pytest.raises(PencilError, match=r"t\.csv: trusted marks are not all true or false"):
        load_data(path, options={"trusted": "sure"})
    with pytest.raises(PencilError, match='no column "surely"'):
        load_data(path, options={"trusted": "surely"})


def test_a_column_of_paths_is_a_text_where_features_are_named(load_data, tmp_path):
    path = csv(tmp_path, "a,file,label\n1,no.png,x\n2,none.png,y\n")
    with pytest.raises(PencilError, match=r"no\.png does not exist"):
        load_data(path)
    data = load_data(path, options={"features": "a,file"}, held_out=0.0)
    assert data.facts["features"] == ["a", "file=no.png", "file=none.png"]


@pytest.mark.parametrize(
    ("lines", "given"),
    [("label\nv\nw\n", [0, 1]), ("name,label\nq,w\np,v\n", [0, 1]), ("label,a,b\nw,1,1\nv,1,1\n", [1, 0])],
)
def test_labels_of_another_file_go_by_id_or_by_the_order_of_lines(load_data, tmp_path, lines, given):
    (tmp_path / "labels.csv").write_text(lines)
    path = csv(tmp_path, "id,a,label\np,1,v\nq,2,w\n")
    assert load_data(path, labels=str(tmp_path / "labels.csv"), held_out=0.0).train.given.tolist() == given


@pytest.mark.parametrize(
    ("labels", "terms"),
    [(["3", "1", "2", "1"], [1, 2, 3]), (["b", "a", "b", "a"], ["a", "b"]), (["07", "1", "07", "1"], ["1", "07"])],
)
def test_classes_are_called_what_the_file_calls_them(tmp_path, labels, terms):
    path = tmp_path / "t.csv"
    path.write_text("x,label\n" + "".join(f"{n},{label}\n" for n, label in enumerate(labels)))
    assert read(DataSettings(source=str(path))).terms.tolist() == terms


def test_digits_that_32_bits_do_not_hold_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("near,far,label\n" + "".join(f"{n},{10**10 + n},{n % 2}\n" for n in range(30)))
    line = read(DataSettings(source=str(path))).facts["blurred"]
    assert line.startswith("column far varies by 8.66 around 10000000014.5, which 32 bits do not tell apart")


def test_features_of_one_name_are_refused(load_data, tmp_path):
    with pytest.raises(PencilError, match='two features would be called "a=b"; rename the column'):
        load_data(csv(tmp_path, "a,a=b,label\nb,1,x\nc,2,y\n"))


@pytest.mark.parametrize("lines", ["a,a=b,label\n1,c,x\n2,d,y\n", "a[0],a[0]=u,label\n1,c,x\n2,d,y\n"])
def test_columns_whose_features_a_run_would_mix_up_are_refused(load_data, tmp_path, lines):
    longer, shorter = (re.escape(name) for name in reversed(lines.split(",")[:2]))
    with pytest.raises(PencilError, match=f'column "{longer}" would pass for those of the column "{shorter}"'):
        load_data(csv(tmp_path, lines))
    numbers = lines.replace("c", "3").replace("d", "4")
    assert len(load_data(csv(tmp_path, numbers), held_out=0.0).facts["features"]) == 2


def test_texts_of_several_lines_in_a_large_file(load_data, tmp_path):
    text = '"said: ""one"",\nand then\n' + "word\n" * 2000 + '"'
    rows = "".join(f"{2 * n},{text},{'ab'[n % 2]}\n" for n in range(2000))
    data = load_data(csv(tmp_path, "size,text,label\n" + rows), held_out=0.0)
    assert (tmp_path / "t.csv").stat().st_size > 2**24, "more than is read at once"
    assert data.train.inputs.array[:, 0].tolist() == list(range(0, 4000, 2))


def test_rows_of_more_than_a_mebibyte(tmp_path):
    names = [f"feature_number_{n}" for n in range(4000)]
    rows = [",".join([f"{n:.700f}" for _ in names] + ["ab"[n % 2]]) for n in range(3)]
    data = read(DataSettings(source=str(csv(tmp_path, "\n".join([",".join([*names, "label"]), *rows]) + "\n"))))
    assert data.train.inputs.array.shape == (3, 4000)


def test_the_index_of_a_data_frame_is_left_out_unless_it_is_named(load_data, tmp_path):
    columns = {"size": [1.0, 2, 3, 4], "label": [0, 1, 0, 1], "__index_level_0__": [7, 3, 5, 1]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    facts = load_data(tmp_path / "t.parquet").facts
    assert facts["features"] == ["size"] and '"__index_level_0__" is the index of a data frame' in facts["left_out"]
    named = load_data(tmp_path / "t.parquet", options={"features": "__index_level_0__"})
    assert named.facts["features"] == ["__index_level_0__"] and "left_out" not in named.facts


def test_row_numbers_that_pandas_wrote_and_read_are_left_out(load_data, tmp_path):
    data = load_data(csv(tmp_path, "Unnamed: 0,Unnamed: 1,label\n2,5,x\n0,5,y\n1,6,x\n"), held_out=0.0)
    assert data.facts["features"] == ["Unnamed: 1"]
    assert data.facts["left_out"] == 'the column "Unnamed: 0" is the index of a data frame and is left out.'


@pytest.mark.parametrize("options", [{}, {"id": "key", "split": "set", "clean": "truth", "trusted": "sure"}])
def test_a_column_without_a_name_is_left_out_and_said(load_data, tmp_path, options):
    rows = [f"{n % 3},{n % 7},r{n},train,{'ab'[n % 2]},1,{'ab'[n % 2]}\n" for n in range(9)]
    path = csv(tmp_path, ",size,key,set,truth,sure,label\n" + "".join(rows))
    facts = load_data(path, options={"features": "size", **options}, held_out=0.0).facts
    assert facts["features"] == ["size"] and "left_out" not in facts
    facts = load_data(path, options=options, held_out=0.0).facts
    assert "" not in facts["features"] and "size" in facts["features"]
    assert facts["left_out"] == "a column without a name is left out; name it to use it."


@pytest.mark.parametrize(("name", "yes", "no"), [("held_out", "True", "False"), ("IsTest", "1", "0")])
def test_marks_of_a_set_are_left_out_unless_they_are_named(load_data, tmp_path, name, yes, no):
    rows = [f"{yes if n % 4 == 0 else no},{n % 7},{'ab'[n % 2]}\n" for n in range(30)]
    path = csv(tmp_path, f"{name},size,label\n" + "".join(rows))
    facts = load_data(path, held_out=0.0).facts
    assert facts["features"] == ["size"]
    assert facts["left_out"] == (
        f'the column "{name}" marks rows of a set and is left out; to keep rows apart, name a column that says train,'
        " val or test by data.options.split."
    )
    named = load_data(path, options={"features": f"{name},size"}, held_out=0.0)
    assert named.facts["features"] == [name, "size"] and "left_out" not in named.facts


def test_other_columns_of_a_name_like_a_sets_are_features(load_data, tmp_path):
    rows = [f"{n % 5},{n % 2 == 0},{'ab'[n % 2]}\n" for n in range(30)]
    facts = load_data(csv(tmp_path, "is_test,tested,label\n" + "".join(rows)), held_out=0.0).facts
    assert facts["features"] == ["is_test", "tested"] and "left_out" not in facts


def test_columns_of_texts_weigh_as_much_as_columns_of_numbers(load_data, tmp_path):
    rows = [f"{n % 7},{'red' if n % 9 else 'blue'},{n % 2 == 0},{'ab'[n % 2]}\n" for n in range(90)]
    data = load_data(csv(tmp_path, "size,colour,new,label\n" + "".join(rows)), held_out=0.0)
    assert data.facts["features"] == ["size", "colour=blue", "colour=red", "new"]
    preparation = data.preparation
    seen = (data.train.inputs.array - np.array(preparation.mean)) / np.array(preparation.std)
    np.testing.assert_allclose([seen[:, [0]].var(), 2 * seen[:, 1:3].var(), seen[:, 3].var()], 1, rtol=1e-5)


@pytest.mark.parametrize("name", ["rownames", "RowNumber", "row_id"])
def test_numbers_of_rows_are_left_out_by_their_name_in_any_order(load_data, tmp_path, name):
    data = load_data(csv(tmp_path, f"{name},size,label\n2,5,x\n9,5,y\n1,6,x\n"), held_out=0.0)
    assert data.facts["features"] == ["size"]
    assert data.facts["left_out"] == f'the column "{name}" numbers the rows and is left out.'


def test_whole_numbers_that_only_tell_a_rows_place_are_left_out_unless_they_are_named(load_data, tmp_path):
    rows = [f"{n + 1},{n % 7},{'ab'[n > 15]}" for n in range(30)]
    path = csv(tmp_path, "\n".join(["Passenger,size,label", *rows]) + "\n")
    data = load_data(path, held_out=0.0)
    assert data.facts["features"] == ["size"]
    assert data.facts["left_out"] == 'the column "Passenger" numbers the rows and is left out.'
    named = load_data(path, options={"features": "Passenger,size"}, held_out=0.0)
    assert named.facts["features"] == ["Passenger", "size"]


def test_whole_numbers_in_order_are_learned_from_where_there_is_nothing_else_or_one_is_left_out(load_data, tmp_path):
    rows = [f"{n},{'ab'[n > 15]}" for n in range(30)]
    assert load_data(csv(tmp_path, "\n".join(["size,label", *rows]) + "\n")).facts["features"] == ["size"]
    rows = [f"{n + (n > 8)},{n % 7},{'ab'[n > 15]}" for n in range(30)]
    assert load_data(csv(tmp_path, "\n".join(["t,size,label", *rows]) + "\n")).facts["features"] == ["t", "size"]


@pytest.mark.parametrize("kind", ["vectors", "texts"])
def test_features_are_not_copied_many_times(kind):
    count, width = 2000, 64
    flat = pa.array(np.zeros(count * width, dtype=np.float32))
    columns = {"vectors": pa.FixedSizeListArray.from_arrays(flat, width)}
    columns["texts"] = pa.array([f"text {row % width}" for row in range(count)])
    tracemalloc.start()
    try:
        rows, _ = tables.features(pa.table(columns), [kind])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.shape == (count, width) and peak < 4 * rows.nbytes


def test_empty_cells_of_numbers_are_missing_and_counted(load_data, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b,c,label\n1,,red,x\n,5,,y\n3,,red,y\n")
    loaded = load_data(str(table))
    rows = loaded.train.inputs.read(np.arange(3))
    np.testing.assert_array_equal(rows, [[1, np.nan, 0, 1], [np.nan, 5, 1, 0], [3, np.nan, 0, 1]])
    told = '3 cells of 2 columns, "a" and others are empty; the network sees them as the column\'s mean.'
    assert loaded.facts["missing"] == told


def test_ids_and_sets_may_be_named_in_capitals(load_data, tmp_path):
    lines = "".join(f"{n:02},{n / 7},{'ab'[n % 2]},{'Test' if n > 7 else 'Train'}\n" for n in range(1, 10))
    path = csv(tmp_path, "Id,size,label,Split\n" + lines)
    data = load_data(path, held_out=0.0)
    assert data.facts["features"] == ["size"]
    assert data.train.ids.tolist() == [f"{n:02}" for n in range(1, 8)] and len(data.test) == 2
    named = load_data(path, held_out=0.0, options={"features": ["Id", "size"]})
    assert named.facts["features"] == ["Id", "size"] and named.train.ids[0] != "01", "it is a feature where named so"
    both = load_data(csv(tmp_path, "ID,id,size,label\n5,x,1,a\n5,y,2,b\n"), held_out=0.0)
    assert both.train.ids.tolist() == ["x", "y"] and both.facts["features"] == ["size"]


def test_blanks_around_the_names_of_columns_do_not_hide_their_use(load_data, tmp_path):
    data = load_data(csv(tmp_path, "label , id, size, split\na, 7, 1, train\nb, 8, 2, train\n"), held_out=0.0)
    assert data.facts["features"] == [" size"] and data.train.ids.tolist() == [" 7", " 8"]
    assert data.class_names == ("a", "b")


@pytest.mark.parametrize("name", ["image_path", "Image Path", "img", "img-name", "file_name", "filepath", "image_file"])
def test_columns_of_image_files_are_found_by_other_names(fakes, load_data, tmp_path, name):
    for place, image in enumerate(fakes.pixels(4, 16)):
        fakes.save_image(tmp_path / f"{place}.PNG", image)
    path = csv(tmp_path, f"width,{name},label\n" + "".join(f"16,{n}.PNG,{'ab'[n % 2]}\n" for n in range(4)))
    data = load_data(path, held_out=0.0)
    assert data.preparation.raw_shape == (16, 16, 3) and data.train.ids.tolist() == [f"{n}.PNG" for n in range(4)]


@pytest.mark.parametrize(
    ("name", "texts"), [("file_name", "x.csv x.csv y.csv"), ("image_id", "a.png b.png a.png"), ("image_path", "1 2 3")]
)
def test_other_columns_are_no_images(load_data, tmp_path, name, texts):
    cells = enumerate(texts.split())
    path = csv(tmp_path, f"size,{name},label\n" + "".join(f"{n},{text},{'ab'[n % 2]}\n" for n, text in cells))
    assert load_data(path, held_out=0.0).preparation.kind == "rows"


def test_images_that_are_not_there_are_told_with_what_to_do(load_data, tmp_path):
    path = csv(tmp_path, "image_path,size,label\na.png,1,x\nb.png,2,y\n")
    with pytest.raises(PencilError, match=r'"image_path" names images, but .*a\.png does not exist; .*root DIR.*fe'):
        load_data(path)


def test_what_an_export_of_a_run_says_of_labels_is_not_learned_from(load_data, tmp_path):
    rows = ["size,y,label,corrected_label,label_source,label_quality"]
    rows += [f"{n},{n},{n % 2},{(n + 1) % 2},{'given' if n % 3 else 'relabelled'},0.{n}" for n in range(8)]
    path = csv(tmp_path, "\n".join(rows))
    for label in ("label", "corrected_label"):
        data = load_data(path, options={"label": label}, held_out=0.0)
        assert data.facts["features"] == ["size", "y"] and data.train.texts is None
    chosen = load_data(path, options={"label": "label", "features": ["size", "label_quality"]}, held_out=0.0)
    assert chosen.facts["features"] == ["size", "label_quality"]
    path.write_text("\n".join(row.replace("corrected_label", "weight") for row in rows))
    own = load_data(path, options={"label": "label"}, held_out=0.0).facts["features"]
    assert "label_quality" in own and "label_source=given" in own


def _pictures(tmp_path, name, kind, *, empty=None):
    cells = []
    for number in range(6):
        file = io.BytesIO()
        Image.fromarray(np.full((4, 5, 3), 40 * number, np.uint8)).save(file, "PNG")
        cells.append(None if number == empty else file.getvalue())
    if kind == "struct":
        cells = [{"bytes": cell, "path": None} for cell in cells]
    table = pa.table({"n": range(6), name: cells, "label": list("ababab")})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize(("name", "kind"), [("image", "bytes"), ("image", "struct"), ("scan", "bytes")])
def test_images_may_lie_in_a_column_themselves(load_data, tmp_path, name, kind):
    path = _pictures(tmp_path, name, kind)
    data = load_data(path, held_out=0.0)
    assert data.preparation.kind == "images"
    seen = data.train.inputs.read(np.arange(6))
    assert seen.shape == (6, 4, 5, 3) and seen[:, 0, 0, 0].tolist() == [0, 40, 80, 120, 160, 200]
    again = load_data(path, held_out=0.0, options={"id": "n", "image": name})
    assert again.train.ids.tolist() == list("012345") and len(set(data.train.ids.tolist())) == 6
    wider = load_data(path, held_out=0.0, options={"size": 8})
    assert wider.train.inputs.read(np.arange(2)).shape == (2, 8, 8, 3)


@pytest.mark.parametrize("empty", [0, 3])
def test_a_row_without_its_image_is_named(load_data, tmp_path, empty):
    with pytest.raises(PencilError, match=f"t.parquet, row {empty + 1} has no image; leave the row out."):
        load_data(_pictures(tmp_path, "image", "bytes", empty=empty))


def test_images_in_a_column_have_no_files_of_their_own(tmp_path):
    assert original_files(DataSettings(source=str(_pictures(tmp_path, "image", "struct")))) == {}
