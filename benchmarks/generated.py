"""The part of a page that is generated stands between two marks; the rest is written by hand."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Generated:
    """A generated part of a page."""

    name: str
    source: str
    """What it is made from, and by which script."""

    @property
    def start(self) -> str:
        """The mark before it."""
        return f"<!-- {self.name}: generated from {self.source} -->"

    @property
    def end(self) -> str:
        """The mark after it."""
        return f"<!-- /{self.name} -->"

    def put(self, page: str, text: str) -> str:
        """Return the page with this text between the marks."""
        before, rest = page.split(self.start)
        return f"{before}{self.start}\n{text}{self.end}{rest.split(self.end)[1]}"
