"""A person with a keyboard: train, review, undo, close, apply; and names that would like to be HTML."""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from pencil.results.decisions import read_standing
from pencil.results.labels_table import read_labels, write_labels
from pencil.results.read import read_run

from .conftest import serving
from .test_attacks import HOSTILE, IDS

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install playwright")
pytestmark = pytest.mark.slow


@pytest.fixture
def troubles() -> Iterator[list[str]]:
    """What went wrong in a page: errors, violations of the policy, dialogs that a script opened."""
    found: list[str] = []
    yield found
    assert found == []


def opened(browser: Any, address: str, troubles: list[str]) -> Any:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(10_000)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.goto(address)
    page.wait_for_selector(".card")
    return page


def shows(page: Any, place: str, text: "str | re.Pattern[str]") -> None:
    """Wait for a text; the policy of the page forbids the usual way of asking by a script."""
    sync_api.expect(page.locator(place)).to_have_text(text, timeout=10_000)


def said(page: Any, text: str) -> None:
    """Wait until the page counts that much as decided, and all of it as saved."""
    shows(page, "#counts", re.compile(f"^{text}"))
    shows(page, "#saved", "All saved")


def test_train_review_undo_close_apply_and_go_on(
    browser: Any, warm: Callable[..., Any], place: Path, troubles: list[str]
) -> None:
    quick = ("--set", "hardware.threads=1", "-q")
    noisy = ("--noise", "symmetric:0.4", "--backbone", "mlp", "--set", "data.held_out=0", "--epochs", "2,6,1")
    assert warm("train", "digits", "--out", "run", *noisy, *quick).wait() == 0
    run = place / "run"
    with serving(run) as server:
        page = opened(browser, server.address, troubles)
        assert "token" not in page.url
        items = server.client.get("/api/page?status=open")["items"][:5]
        for number, key in enumerate(("a", "k"), start=1):
            page.keyboard.press(key)
            said(page, f"{number} of ")
        page.keyboard.press("s")
        shows(page, "#counts", re.compile("1 skipped$"))
        page.keyboard.press("Enter")  # The fourth, in the single view; its digit is its key.
        page.wait_for_selector("#single h2")
        assert page.inner_text("#single h2") == items[3]["id"]
        other = next(c for c in range(10) if c not in (items[3]["given"], items[3]["corrected"]))
        page.keyboard.press(str(other))
        said(page, "3 of ")
        page.keyboard.press("c")
        page.keyboard.type("9")
        page.keyboard.press("Enter")
        said(page, "4 of ")
        page.keyboard.press("u")
        said(page, "3 of ")
        assert page.inner_text("#single h2") == items[4]["id"] and page.inner_text("#single .badge") == "to do"
        page.reload()
        page.wait_for_selector("#single h2")
        assert page.inner_text("#single h2") == items[4]["id"]
        second = opened(browser, server.address, troubles)
        said(second, "3 of ")
        second.keyboard.press("a")
        # The first browser sees what the second decided.
        said(page, "4 of ")
        page.context.close()
        second.context.close()
    wanted = {
        items[0]["id"]: items[0]["corrected"], items[1]["id"]: items[1]["given"], items[3]["id"]: other,
        items[4]["id"]: items[4]["corrected"],
    }  # fmt: skip
    assert read_standing(run / "decisions.sqlite").labels() == wanted
    assert warm("labels", "run", "--apply", "--out", "final.csv").wait() == 0
    final = {row["id"]: row for row in csv.DictReader((place / "final.csv").open())}
    assert {name for name, row in final.items() if row["source"] == "reviewed"} == set(wanted)
    assert all(int(final[name]["final"]) == label for name, label in wanted.items())
    assert warm("train", "digits", "--from", "run", "--out", "next", "--epochs", "0,2,1", *quick).wait() == 0
    locked = {row["id"]: row["corrected"] for row in read_run(place / "next").labels.to_pylist() if row["trusted"]}
    assert locked == wanted
    assert read_standing(run / "decisions.sqlite").labels() == wanted


def test_hostile_names_stay_texts(browser: Any, make: Callable[..., Path], troubles: list[str]) -> None:
    with serving(make(classes=HOSTILE, ids=IDS)) as server:
        page = opened(browser, server.address, troubles)
        assert HOSTILE[0] in page.inner_text(".card .pair") and page.locator("img[src='x'], svg").count() == 0
        page.keyboard.press("g")
        page.wait_for_selector(".top li")
        assert page.inner_text("#single h2") in IDS and HOSTILE[1] in page.inner_text(".top")
        page.keyboard.press("c")
        assert HOSTILE[0] in page.inner_text("#options")
        page.keyboard.press("Escape")
        assert page.locator("img[src='x'], script:not([src]), svg").count() == 0
        page.context.close()


def test_a_decision_waits_for_a_server_that_is_away(browser: Any, make: Callable[..., Path]) -> None:
    with serving(make()) as server:
        page = opened(browser, server.address, [])
        page.context.set_offline(True)
        # The page's process learns of it a moment later: a request at once might still go out.
        shows(page, "#trouble", re.compile("server does not answer"))
        page.keyboard.press("a")
        shows(page, "#trouble", re.compile("Not saved yet"))
        assert page.inner_text("#saved") == "Saving 1…" and page.inner_text(".card .badge >> nth=0").startswith("…")
        page.context.set_offline(False)
        said(page, "1 of 10")
        assert page.inner_text(".card .badge >> nth=0").startswith("✓")
        page.context.close()


def test_filters_and_pages_by_hand(browser: Any, make: Callable[..., Path], troubles: list[str]) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        assert page.inner_text("#place") == "1–60 of 200"
        page.keyboard.press("]")
        shows(page, "#place", "61–120 of 200")
        page.keyboard.press("/")
        page.keyboard.type("00003")
        shows(page, "#place", "1–1 of 1")
        page.select_option("#filters [name=decision]", "any")
        page.click("text=Reset")
        page.click("#pairs button >> nth=0")
        shows(page, "#place", "1–60 of 200")
        page.reload()
        page.wait_for_selector(".card")
        assert page.get_attribute("#pairs button >> nth=0", "aria-pressed") == "true"
        page.context.close()


def test_suspects_are_counted_without_what_is_known(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    run = make(count=30)
    table = read_labels(run / "labels.parquet")
    known = np.asarray(table["decision"]) == "relabel"
    write_labels(run / "labels.parquet", table.set_column(table.column_names.index("trusted"), "trusted", [known]))
    with serving(run) as server:
        page = opened(browser, server.address, troubles)
        shows(page, "#place", "1–5 of 5")
        counted = page.locator("#filters [name=decision] option").all_inner_texts()
        assert counted == ["suspects (5)", "to review (5)", "to relabel (5)", "kept (20)", "all (30)"]
        page.context.close()


def test_any_quality_from_0_to_1_is_a_bound_and_nothing_else(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    low, high = "#filters [name=low]", "#filters [name=high]"
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        page.select_option("#filters [name=decision]", "any")
        shows(page, "#place", "1–60 of 600")
        page.fill(low, "0.33")
        shows(page, "#place", "1–60 of 400")
        assert not page.is_visible("#wrong") and "low=0.33" in page.url
        for wrong in ("1.5", "-0.1", "1e"):
            page.press(low, "Control+A")
            page.type(low, wrong)
            sync_api.expect(page.locator(low)).to_have_attribute("aria-invalid", "true")
            shows(page, "#wrong", "a number from 0 to 1")
            page.press(low, "Enter")
            page.fill("#filters [name=find]", "picture-0000")  # Of these ten, six are of that quality.
            shows(page, "#place", "1–6 of 6")
            page.fill("#filters [name=find]", "")
            shows(page, "#place", "1–60 of 400")
            assert "low=0.33" in page.url, "the last bound that was one"
        page.fill(low, "")
        shows(page, "#place", "1–60 of 600")
        page.fill(high, "0.1234")  # Of 0.1 + 0.05 n / 600 for n = 0, 3, 6, …
        shows(page, "#place", "1–60 of 94")
        assert not page.is_visible("#wrong") and page.get_attribute(low, "aria-invalid") == "false"
        page.reload()
        shows(page, "#place", "1–60 of 94")
        assert page.input_value(high) == "0.1234"
        page.fill(high, "2")
        page.click("text=Reset")
        shows(page, "#place", "1–60 of 200")
        assert not page.is_visible("#wrong")
        page.context.close()


def test_the_end_leads_back_to_what_is_left(browser: Any, make: Callable[..., Path], troubles: list[str]) -> None:
    with serving(make(count=9)) as server:
        page = opened(browser, server.address, troubles)
        for key in ("ArrowRight", "a", "a"):
            page.keyboard.press(key)
        said(page, "2 of 3")
        shows(page, "#place", "1–1 of 1")
        page.keyboard.press("k")
        shows(page, "#nothing", re.compile("Nothing is left to do"))
        page.keyboard.press("u")
        shows(page, "#place", "1–1 of 1")
        said(page, "2 of 3")
        page.context.close()


def test_what_is_not_found_is_not_said_to_be_done(browser: Any, make: Callable[..., Path], troubles: list[str]) -> None:
    with serving(make(count=9)) as server:
        page = opened(browser, server.address, troubles)
        page.fill("#filters [name=find]", "no such picture")
        shows(page, "#nothing", re.compile("^No example that is still to do matches these filters"))
        page.context.close()


def test_the_first_card_of_another_page_can_be_opened_by_keyboard(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        for key, place, single in (("]", "61–120 of 200", "61 of 200"), ("[", "1–60 of 200", "1 of 200")):
            page.keyboard.press(key)
            shows(page, "#place", place)
            page.keyboard.press("Enter")
            shows(page, "#place", single)
            page.keyboard.press("Escape")
        page.context.close()


def test_long_names_of_classes_make_the_page_no_wider(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(classes=tuple(f"{number} {'long ' * 20}name" for number in range(3)))) as server:
        page = opened(browser, server.address, troubles)
        page.keyboard.press("Enter")
        for width in (1280, 800, 390):
            page.set_viewport_size({"width": width, "height": 800})
            shows(page, ".top .share >> nth=0", "90%")
            edge = page.locator(".top .share >> nth=0").bounding_box()
            assert edge["x"] + edge["width"] <= width
        page.context.close()


def test_a_page_left_open_decides_nothing_in_another_run(browser: Any, make: Callable[..., Path]) -> None:
    other = make()
    with serving(make()) as server:
        page = opened(browser, server.address, [])
        port = urlsplit(server.address).port
        page.keyboard.press("a")
        said(page, "1 of 10")
    with serving(other, "--port", str(port)) as server:
        page.context.new_page().goto(server.address)  # The cookie is that of all tabs.
        page.bring_to_front()
        shows(page, "#trouble", re.compile("another run"))
        page.keyboard.press("a")
        shows(page, "#trouble", re.compile("^Not saved yet: .* another run"))
        assert server.client.get("/api/summary")["sequence"] == 0
        page.context.close()


def ready_to_hold(page: Any) -> None:
    """Have all requests come by here from now on: the first ones after that may still slip past."""
    page.route("**/api/**", lambda route: route.continue_())


@contextmanager
def held(page: Any, address: str) -> Iterator[None]:
    """Keep the one request that follows from the server until the block has ended."""
    requests: list[Any] = []
    page.route(address, lambda route: requests.append(route), times=1)
    yield
    for _ in range(1_000):
        if requests:
            break
        page.wait_for_timeout(10)
    assert requests, f"nothing asked for {address}; the page is at {page.locator('#place').text_content()}"
    requests[0].continue_()


def accept_the_last_of_a_page(page: Any, *, then: str) -> None:
    """Accept the last of 60 examples, and press another key before the next page is there."""
    ready_to_hold(page)
    for _ in range(59):
        page.keyboard.press("ArrowRight")
    with held(page, "**/api/page*"):
        page.keyboard.press("a")
        page.keyboard.press(then)
        if then == "/":
            sync_api.expect(page.locator("#filters [name=find]")).to_be_focused(timeout=10_000)
    shows(page, "#place", re.compile("60–119 of 199|61–120 of 200"))  # Whichever comes first, decision or page.


def test_a_key_before_the_next_page_is_there_does_not_decide_the_last_example_again(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        accept_the_last_of_a_page(page, then="k")
        said(page, "1 of 200")
        assert server.client.get("/api/example?row=177")["state"] == 1, "as accepted"
        page.keyboard.press("k")
        said(page, "2 of 200")
        assert server.client.get("/api/example?row=180")["state"] == 0, "as kept"
        page.context.close()


def test_a_class_that_is_looked_for_before_the_next_page_is_there_is_not_for_its_first_example(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        accept_the_last_of_a_page(page, then="c")
        page.keyboard.press("Enter")
        said(page, "1 of 200")
        assert server.client.get("/api/example?row=180")["state"] == -2, "nobody has decided it"
        page.keyboard.press("Escape")
        page.context.close()


def test_a_search_begun_before_the_next_page_is_there_goes_on(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        accept_the_last_of_a_page(page, then="/")
        page.keyboard.type("cask")
        shows(page, "#nothing", re.compile("^No example"))
        said(page, "1 of 200")
        assert page.input_value("#filters [name=find]") == "cask"
        page.context.close()


def test_a_key_before_an_undo_has_led_back_decides_nothing(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make()) as server:
        page = opened(browser, server.address, troubles)
        ready_to_hold(page)
        page.keyboard.press("a")
        said(page, "1 of 10")
        with held(page, "**/api/undo"):
            page.keyboard.press("u")
            page.keyboard.press("k")
        said(page, "0 of 10")
        page.keyboard.press("k")
        said(page, "1 of 10")
        assert [server.client.get(f"/api/example?row={row}")["state"] for row in (0, 3)] == [0, -2]
        page.context.close()


def test_a_class_that_is_called_by_a_number_is_chosen_by_it(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(classes=("1", "2", "3"))) as server:
        page = opened(browser, server.address, troubles)
        page.keyboard.press("0")
        page.keyboard.press("3")
        said(page, "1 of 10")
        assert server.client.get("/api/example?row=0")["state"] == 2
        page.keyboard.press("g")
        assert page.locator(".classes kbd").all_inner_texts() == ["1", "2", "3"]
        page.context.close()
    names = tuple(sorted(str(number) for number in range(12)))
    with serving(make(classes=names)) as server:
        page = opened(browser, server.address, troubles)
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        said(page, "1 of 10")
        assert names[server.client.get("/api/example?row=0")["state"]] == "2"
        page.context.close()


def test_names_of_other_scripts(browser: Any, make: Callable[..., Path], troubles: list[str]) -> None:
    with serving(make(classes=("قطة", "كلب", "cafe\u0301"))) as server:
        page = opened(browser, server.address, troubles)
        given, suggested = (page.locator(f"#pairs bdi >> nth={place}") for place in (0, 1))
        assert (given.inner_text(), suggested.inner_text()) == ("قطة", "كلب")
        assert given.bounding_box()["x"] < suggested.bounding_box()["x"], "the arrow leads from one to the other"
        page.keyboard.press("c")
        typing = page.context.new_cdp_session(page)
        typing.send("Input.imeSetComposition", {"text": "CAF\u00c9", "selectionStart": 4, "selectionEnd": 4})
        page.keyboard.press("Enter")  # The end of composing a name is not yet the choice of it.
        assert page.is_visible("#chooser")
        typing.send("Input.insertText", {"text": "CAF\u00c9"})
        page.keyboard.press("Enter")
        said(page, "1 of 10")
        assert server.client.get("/api/example?row=0")["state"] == 2
        page.context.close()


def test_long_names_are_told_apart_in_pairs_and_on_cards(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    names = tuple(f"Cardiovascular system agents, {kind}" for kind in ("blood pressure, oral", "lipids", "rhythm"))
    with serving(make(classes=names)) as server:
        page = opened(browser, server.address, troubles)
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight + 2).length"
        assert page.eval_on_selector_all("#pairs button", cut) == 0
        assert page.eval_on_selector_all(".card .pair > *", f"all => all.length && ({cut})(all) + 1") == 1
        page.context.close()


def test_epochs_are_counted_from_one_as_in_the_report(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make()) as server:  # Labels change in epoch 4, counted from 0.
        page = opened(browser, server.address, troubles)
        page.keyboard.press("g")
        shows(page, ".facts div:has-text('Label moved') dd", "1×, last in epoch 5")
        page.context.close()


def test_keyboards_of_other_scripts_and_brackets_behind_a_modifier(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make(count=600)) as server:
        page = opened(browser, server.address, troubles)
        keyboard = page.context.new_cdp_session(page)

        def press(key: str, code: str, modifiers: int = 0) -> None:
            for kind in ("keyDown", "keyUp"):
                keyboard.send(
                    "Input.dispatchKeyEvent", {"type": kind, "key": key, "code": code, "modifiers": modifiers}
                )

        alt, control = 1, 2
        press("ф", "KeyA")
        said(page, "1 of 200")
        press("я", "KeyZ", control)
        said(page, "0 of 200")
        for modifiers, place in ((alt + control, "61–120 of 200"), (alt, "121–180 of 200")):
            press("]", "Digit9", modifiers)
            shows(page, "#place", place)
        press("a", "KeyA", alt)
        press("[", "BracketLeft", control)  # The browser's own.
        press("s", "KeyS")
        shows(page, "#counts", "0 of 200 suspects decided, 1 skipped")
        assert page.inner_text("#place") == "121–180 of 200"
        page.context.close()


def test_a_key_that_is_held_down_takes_back_one_decision(
    browser: Any, make: Callable[..., Path], troubles: list[str]
) -> None:
    with serving(make()) as server:
        page = opened(browser, server.address, troubles)
        for _ in range(3):
            page.keyboard.press("a")
        said(page, "3 of 10")
        for key in ("Control", "z", "z", "z"):
            page.keyboard.down(key)
        page.keyboard.up("Control")
        said(page, "2 of 10")
        page.keyboard.press("s")
        shows(page, "#counts", "2 of 10 suspects decided, 1 skipped")
        page.context.close()
