"""How each annotator agrees with the others, and what SPA would be without them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from spagree.estimate.intervals import mean_error, wilson_each
from spagree.estimate.label_shares import label_shares
from spagree.estimate.leave_one_out import Peers, leave_one_out
from spagree.estimate.outliers import against_others
from spagree.estimate.uncertainty import FEW_ITEMS
from spagree.tally.coded import Coded

if TYPE_CHECKING:
    import polars

NO_OVERLAP = "shares no item with anybody"
ONE_ITEM = "shares only one item, too few to show how items differ"


def annotators(
    codes: Coded, found: Peers, by_n: Mapping[int, Fraction], spa: float | None, level: float
) -> polars.DataFrame:
    """One row per annotator, least agreement with the others first; those with few shared items come last.

    ``agreement`` is the probability that somebody else, drawn at random on a random one of the annotator's
    shared items, gave the same label; items count the same, however many others annotated them.
    ``against_others`` is how much more the others of the same items agree with the annotator than among themselves,
    over the items with three or more annotations; ``stands_out`` is None with fewer than ten of them.
    """
    import polars

    known = found.known
    shared = known.shared
    value = np.divide(known.per_annotator(known.share), shared, out=np.full(found.size, np.nan), where=shared > 0)
    stderr = mean_error(shared, known.per_annotator((known.share - value[known.annotator]) ** 2))
    low, high = wilson_each(value, stderr, shared, level)
    without = leave_one_out(found, by_n).spa if by_n else np.full(found.size, np.nan)
    annotations = np.bincount(codes.annotator[codes.annotator >= 0], minlength=found.size)
    given = label_shares(codes)
    against = against_others(found, level)
    tested = zip(against.stands_out.tolist(), np.isnan(against.p).tolist(), strict=True)
    reasons = [NO_OVERLAP if m < 1 else ONE_ITEM if m < 2 else None for m in shared.tolist()]
    columns = {
        "annotator": codes.annotators,
        "annotations": annotations.astype(np.int64),
        "coverage": annotations / max(codes.items, 1),
        "shared": shared.astype(np.int64),
        "agreement": value,
        "stderr": stderr,
        "low": low,
        "high": high,
        "spa_without": without,
        "change": without - (np.nan if spa is None else spa),
        "commonest": [codes.labels[label] if label >= 0 else None for label in given.commonest.tolist()],
        "commonest_share": given.share,
        "one_label": given.one_label,
        "against_others": against.difference,
        "against_others_low": against.low,
        "against_others_high": against.high,
        "stands_out": polars.Series([None if unknown else named for named, unknown in tested], dtype=polars.Boolean),
        "few": shared < FEW_ITEMS,
        "undefined": polars.Series(reasons, dtype=polars.String),
    }
    frame = polars.DataFrame(columns, schema_overrides={"annotator": polars.String, "commonest": polars.String})
    return frame.fill_nan(None).sort("few", "agreement", "annotator", nulls_last=True)
