"""Texts of others, such as names of classes, in lines of our own."""

from collections.abc import Sequence
from unicodedata import category

_SHOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ODD = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, halves of characters, and what separates lines and paragraphs."""


def in_one_line(text: str) -> str:
    """Return a text in which what would break the line, or command the terminal, is spelled out."""
    return "".join(_spelled(sign) if category(sign) in _ODD else sign for sign in text)


def is_unicode(text: str) -> bool:
    """Say whether a text can be written into a file; names of files that are not UTF-8 come as others."""
    return text.isascii() or not any(category(sign) == "Cs" for sign in text)


def first_line(error: Exception) -> str:
    """Return what went wrong in one line."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def counted(number: int, word: str) -> str:
    """Return how many there are of something that has its plural by an s."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first of several texts, and how many more there are."""
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _spelled(sign: str) -> str:
    code = ord(sign)
    return _SHOWN.get(sign) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
