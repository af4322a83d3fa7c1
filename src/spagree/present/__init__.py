"""Findings → text, JSON, notebook, charts and the report; the only place where numbers become words."""
