"""Measures the paired gate itself: what it calls red when nothing changed, and what it finds of what was slowed."""
