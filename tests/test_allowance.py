"""What a container leaves of its host: by made-up trees of control groups, and by a real group where one may be."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pencil import allowance

GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 64 processors with 100 kB free, on which nothing is limited."""
    monkeypatch.setattr(allowance, "ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    write(tmp_path / "proc/meminfo", "MemTotal:  900 kB\nMemAvailable:    100 kB\n")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_without_limits_all_of_the_machine_is_used(root: Path) -> None:
    assert allowance.processors() == 64 and allowance.memory() == 100 * 1024
    write(root / "proc/self/cgroup", "0::/user\n")
    write(root / "sys/fs/cgroup/user/cpu.max", "max 100000\n")
    write(root / "sys/fs/cgroup/user/memory.max", "max\n")
    assert allowance.processors() == 64 and allowance.memory() == 100 * 1024
    write(root / "proc/self/cgroup", "4:memory:/\n3:cpu,cpuacct:/\n")
    write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
    write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n")
    assert allowance.processors() == 64 and allowance.memory() == 100 * 1024


@pytest.mark.parametrize(("quota", "found"), [("250000 100000", 2), ("50000 100000", 1), ("9900000 100000", 64)])
def test_processors_are_those_of_the_tightest_group(root: Path, quota: str, found: int) -> None:
    write(root / "proc/self/cgroup", "0::/outer/inner\n")
    write(root / "sys/fs/cgroup/outer/cpu.max", f"{quota}\n")
    write(root / "sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n")
    assert allowance.processors() == found


def test_memory_held_for_files_is_given_back(root: Path) -> None:
    write(root / "proc/self/cgroup", "0::/outer/inner\n")
    write(root / "sys/fs/cgroup/outer/memory.max", "50000\n")
    write(root / "sys/fs/cgroup/outer/memory.current", "40000\n")
    write(root / "sys/fs/cgroup/outer/memory.stat", "anon 7\ninactive_file 10000\nactive_file 5000\n")
    assert allowance.memory() == 25_000
    write(root / "sys/fs/cgroup/outer/memory.current", "90000\n")
    assert allowance.memory() == 0


def test_groups_of_version_1_limit_too(root: Path) -> None:
    write(root / "proc/self/cgroup", "4:memory:/docker/1234\n3:cpu,cpuacct:/docker/1234\n1:name=systemd:/\n0::/\n")
    # In a container its own group is the top, not what it is called outside.
    write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n")
    write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "60000\n")
    write(root / "sys/fs/cgroup/memory/memory.usage_in_bytes", "30000\n")
    write(root / "sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 10000\n")
    assert allowance.processors() == 3 and allowance.memory() == 40_000


def test_a_tree_of_version_1_may_be_called_in_another_order_than_its_kinds(root: Path) -> None:
    write(root / "proc/self/cgroup", "3:cpuacct,cpu:/größe\n")
    write(root / "sys/fs/cgroup/cpu,cpuacct/größe/cpu.cfs_quota_us", "200000\n")
    write(root / "sys/fs/cgroup/cpu,cpuacct/größe/cpu.cfs_period_us", "100000\n")
    (root / "sys/fs/cgroup/cpu").symlink_to("cpu,cpuacct")
    assert allowance.processors() == 2


@pytest.mark.parametrize("text", ["", "nonsense\n", "0:\n", "::\n0::/gone\n", "4:memory:/x\n"])
def test_what_cannot_be_read_limits_nothing(root: Path, text: str) -> None:
    write(root / "proc/self/cgroup", text)
    write(root / "sys/fs/cgroup/cpu.max", "few\n")
    write(root / "sys/fs/cgroup/memory/x/memory.limit_in_bytes", "much\n")
    assert allowance.processors() == 64 and allowance.memory() == 100 * 1024
    (root / "proc/meminfo").unlink()
    assert allowance.memory() == allowance.UNKNOWN


@pytest.fixture
def limited() -> Iterator[Path]:
    """A script that puts itself into a real group of one processor and 900 MB, if there may be one."""
    name = f"pencil-test-{os.getpid()}"
    made = []
    try:
        for kind, limits in {
            "cpu": {"cpu.cfs_period_us": 100_000, "cpu.cfs_quota_us": 100_000},
            "memory": {"memory.limit_in_bytes": 900_000_000},
        }.items():
            folder = GROUPS / kind / name
            folder.mkdir()
            made.append(folder)
            for file, value in limits.items():
                (folder / file).write_text(str(value))
    except OSError as error:
        for folder in made:
            folder.rmdir()
        pytest.skip(f"no group of version 1 can be made here: {error}")
    yield Path(name)
    for folder in made:
        folder.rmdir()


def test_a_process_in_a_real_group_keeps_to_it(limited: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "for kind in ('cpu', 'memory'): Path('/sys/fs/cgroup', kind, sys.argv[1], 'cgroup.procs').write_text('0')\n"
        "from pencil.allowance import memory, processors; print(processors(), memory())\n"
        "from pencil.runtime import use_threads; print(use_threads(0))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(limited)], check=True, capture_output=True, text=True, timeout=300
    )
    own, left, threads = map(int, ended.stdout.split())
    assert own == threads == 1 and 0 < left < 900_000_000
