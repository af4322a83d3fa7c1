"""Exports of annotation tools → Annotations, one per question.

source (what is it?) ─ registry (which tool?) ─ the tool: responses, from records ─ export (by rules): Annotations

A reader is one file that declares where its tool keeps item, annotator, label and time, and yields
:class:`~spagree.read.tools.tool.Response` objects. docs/formats.md shows how to write one.
"""
