"""Tables with coloured cells: classes that are confused, and pairs of annotators."""

from __future__ import annotations

from spagree.present.charts.spec import Rows, Spec, Tips, domain, layer, layered, tooltip

CELL, LARGEST, SMALLEST = 44, 560, 200
MOST_WORDS = 12  # rows up to which numbers fit in the cells
SHORT = 4  # letters of a name that fits above its column
MANY, SMALL = 24, 8  # names from which letters are small
NOTABLE = 0.15  # share of a row: an excess that gets the full colour, unless others are larger
FAINTEST, STRONGEST = 0.06, 0.5  # opacities of a colour on which the page's text is still readable


def confusion(rows: Rows, tips: Tips) -> Spec:
    """A cell per row of ``down, across, value, words, excess``: grey on the diagonal, coloured where ``excess`` > 0.

    ``excess`` is how much more often two classes are confused than their shares alone would predict.
    """
    names = list(dict.fromkeys(row["down"] for row in rows))
    places = _places(names, ("first annotator says", "second annotator says"))
    most = max((NOTABLE, *(row["excess"] for row in rows)))
    strength = _strength("excess", [0, most], 0.0)
    same = layer("rect", {**places, "tooltip": tooltip(tips)}, where="datum.same && isValid(datum.value)", style="same")
    confused = layer(
        "rect",
        {**places, "fillOpacity": strength, "tooltip": tooltip(tips)},
        where="!datum.same && isValid(datum.value)",
        style="confused",
    )
    return _square(rows, names, [same, confused], places)


def triangle(rows: Rows, tips: Tips) -> Spec:
    """Each pair of annotators once: the stronger the colour, the more they agree; rows of ``down, across, value``."""
    names = list(dict.fromkeys(row["down"] for row in rows)), list(dict.fromkeys(row["across"] for row in rows))
    ordered = [*names[1], *(each for each in names[0] if each not in names[1])]
    places = _places(ordered, ("annotator", "other"))
    strength = _strength("value", domain(row["value"] for row in rows))
    strength["legend"] = {"orient": "bottom", "tickCount": 3, "title": "agreement", "symbolType": "square"}
    met = layer("rect", {**places, "fillOpacity": strength, "tooltip": tooltip(tips)}, style="met")
    return _square(rows, ordered, [met], places)


def _strength(field: str, ends: object, faintest: float = FAINTEST) -> Spec:
    scale = {"domain": ends, "range": [faintest, STRONGEST], "clamp": True, "zero": False, "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "legend": None}


def _places(names: list[str], titles: tuple[str, str]) -> Spec:
    """The two axes: the same names in the same order."""
    small = {"labelFontSize": SMALL} if len(names) > MANY else {}
    both = {"type": "nominal", "sort": names, "scale": {"domain": names}}
    is_short = max(map(len, names), default=0) <= SHORT
    top = {"labelAngle": 0 if is_short else -45, "labelLimit": 110, "orient": "top", **small}
    return {
        "y": {**both, "field": "down", "title": titles[0], "axis": {"labelLimit": 120, **small}},
        "x": {**both, "field": "across", "title": titles[1], "axis": top},
    }


def _square(rows: Rows, names: list[str], layers: list[Spec], places: Spec) -> Spec:
    """As large as its names need, with numbers in the cells if they fit."""
    if len(names) <= MOST_WORDS:
        words = {**places, "text": {"field": "words", "type": "nominal"}}
        layers.append(layer("text", words, where="datum.words != ''", fontSize=11, aria=False, style="name"))
    side = max(SMALLEST, min(LARGEST, CELL * len(names)))
    return layered(rows, layers, width=side, height=side)
