"""A run's log is kept, does not grow without end, and never ends the run."""

from pathlib import Path

from pencil.results.log_file import MOST_BYTES, LogFile


def test_lines_are_added_with_their_time(tmp_path: Path) -> None:
    for word in ("first", "100% of it"):
        log = LogFile(tmp_path / "log.txt")
        log.write(word)
        log.close()
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["first", "100% of it"]
    assert lines[0][:2] == "20"


def test_a_long_log_is_put_aside_and_the_oldest_given_up(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.txt")
    for number in range(6_000):
        log.write(f"{number:6} {'x' * 500}")
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.txt", "log.txt.1"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2 * MOST_BYTES
    assert "  5999 x" in (tmp_path / "log.txt").read_text()


def test_a_disk_that_refuses_a_line_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "log.txt").symlink_to("/dev/full")
    log = LogFile(tmp_path / "log.txt")
    log.write("lost")
    log.close()
