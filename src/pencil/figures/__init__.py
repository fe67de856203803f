"""Figures of runs, drawn from their records; no torch, no screen."""
