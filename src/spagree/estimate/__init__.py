"""Tally → Findings, and from single annotations the breakdowns.

Every figure goes the same way. ``votes`` lays items out and sums them for each number of annotations (Sizes);
``weights`` says what an item with n annotations counts; ``jackknife`` says what each item, cluster, annotator, team or
annotation takes from the sums when it is left out; ``others`` makes of that the intervals for these annotators and for
others. SPA, the kappas (``chance``), two rounds (``comparison``), a model among people (``models``) and marks differ in
the figure that is summed, not in the way.
"""

from spagree.estimate.chance import COEFFICIENTS, Corrected
from spagree.estimate.findings import Data, Findings, PerItem, find
from spagree.estimate.missingness import AgreementAt, Missingness
from spagree.estimate.similarity import METRICS, NOMINAL, Metric
from spagree.estimate.uncertainty import Bootstrap, Estimate, check_level
from spagree.estimate.weights import CUSTOM, DEFAULT, SCHEMES, Weights, check_scheme, item_variance, weigh
from spagree.options import CustomWeights

__all__ = [
    "COEFFICIENTS", "CUSTOM", "DEFAULT", "METRICS", "NOMINAL", "SCHEMES", "AgreementAt", "Bootstrap", "Corrected",
    "CustomWeights", "Data", "Estimate", "Findings", "Metric", "Missingness", "PerItem", "Weights", "check_level",
    "check_scheme", "find", "item_variance", "weigh"
]  # fmt: skip
