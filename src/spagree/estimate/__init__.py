"""Tally → Findings: weights, agreement, uncertainty, the assumption check."""

from spagree.estimate.findings import Data, Findings, PerItem, find
from spagree.estimate.missingness import AgreementAt, Missingness
from spagree.estimate.uncertainty import Bootstrap, Estimate, check_level
from spagree.estimate.variance import item_variance
from spagree.estimate.weights import CUSTOM, DEFAULT, SCHEMES, CustomWeights, Weights, check_scheme, weigh

__all__ = [
    "CUSTOM",
    "DEFAULT",
    "SCHEMES",
    "AgreementAt",
    "Bootstrap",
    "CustomWeights",
    "Data",
    "Estimate",
    "Findings",
    "Missingness",
    "PerItem",
    "Weights",
    "check_level",
    "check_scheme",
    "find",
    "item_variance",
    "weigh",
]
