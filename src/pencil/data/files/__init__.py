"""Files as they lie on a disk or on a server: what they claim is checked, and nothing they name is run."""
