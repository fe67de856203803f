"""PENCIL inside other people's training loops."""
