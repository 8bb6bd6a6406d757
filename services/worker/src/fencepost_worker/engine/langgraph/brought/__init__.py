"""Graphs that authors bring: found, checked, and run under a run's fence without being changed (ADR 0051)."""
