"""Figures worth quoting, measured and printed; nothing here is a test."""
