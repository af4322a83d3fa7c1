"""Tally → Findings: weights, agreement, uncertainty, the assumption check."""

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
