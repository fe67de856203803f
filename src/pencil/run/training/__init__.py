"""A plan trains on this machine: the engine is built, and its sittings are kept on disk."""
