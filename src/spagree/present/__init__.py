"""Findings → text, JSON, notebook, charts and the report; the only place where numbers become words."""

from spagree.present.document import document
from spagree.present.notebook import to_html
from spagree.present.sentence import REFERENCE, for_paper, headline, in_words, interval_words
from spagree.present.terminal import summary, to_text
from spagree.present.wording import escape_controls, figure, interval

__all__ = [
    "REFERENCE",
    "document",
    "escape_controls",
    "figure",
    "for_paper",
    "headline",
    "in_words",
    "interval",
    "interval_words",
    "summary",
    "to_html",
    "to_text",
]
