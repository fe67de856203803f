"""The run folder: what training leaves on disk, written so that nothing can tear it, and read back without torch."""
