"""Small changes to a file's bytes that a reader should survive: damage, cuts, and values nobody expects."""

import random

WORDS = (
    b"", b"\0", b"\n", b",", b'"', b"nan", b"inf", b"-1", b"1e999", b"99999999999999999999", b"\xff\xfe",
    b"\xef\xbb\xbf", b"../../../etc/passwd", b"=cmd()", b"a" * 5000, b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff", b"[" * 200, b"\xf0\x9f\x98\x80", b"None", b"{",
    b"%s%n", b"'; DROP TABLE actions; --",
)  # fmt: skip


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return the content with one to three changes."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        chance.choice(CHANGES)(data, chance)
    return bytes(data)


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 4, 32))):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _remove(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    del data[start : start + chance.choice((1, 4, 64))]


def _insert(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    data[start:start] = chance.choice((*WORDS, chance.randbytes(8)))


def _replace(data: bytearray, chance: random.Random) -> None:
    word, start = chance.choice((*WORDS, chance.randbytes(4))), chance.randrange(len(data) + 1)
    data[start : start + len(word)] = word


def _repeat(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    data[start:start] = data[start : start + 200] * chance.choice((1, 2, 50))


def _blank(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    length = min(chance.choice((1, 8, 200)), len(data) - start)
    data[start : start + length] = bytes([chance.choice((0, 255))]) * length


def _rubbish(data: bytearray, chance: random.Random) -> None:
    data[:] = chance.randbytes(chance.choice((0, 1, 100, 5000)))


def _header(data: bytearray, chance: random.Random) -> None:
    """Most that can go wrong stands in the first bytes."""
    if data:
        data[chance.randrange(min(len(data), 128))] = chance.randrange(256)


def _number(data: bytearray, chance: random.Random) -> None:
    """Make a digit of the text another one: lengths, shapes, labels."""
    digits = [place for place in range(min(len(data), 4000)) if 48 <= data[place] <= 57]
    if digits:
        place = chance.choice(digits)
        data[place : place + 1] = chance.choice((b"9", b"0", b"-7", b"99999999999", b"1.5", b"x"))


CHANGES = (_flip, _cut, _remove, _insert, _replace, _repeat, _blank, _rubbish, _header, _header, _number)
