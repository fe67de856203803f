"""Puts every decision record under docs/decisions into the navigation, so that a new one needs no other edit."""

from pathlib import Path


def on_config(config):
    """Fill the empty entry `Decisions`."""
    folder = Path(config["docs_dir"]) / "decisions"
    pages = [f"decisions/{file.name}" for file in sorted(folder.glob("*.md"))]
    config["nav"] = [{"Decisions": pages} if entry == {"Decisions": []} else entry for entry in config["nav"]]
    return config
