"""The page docs/studies/watching.md, from the figures of benchmarks/watching.py."""

from __future__ import annotations

from watched_projects import ITEMS, PEOPLE, PER_ITEM, RARE, UNEQUAL

ORDERS = (0, 20, 50, 100, 200)  # items in a batch; 0 is random order
LOOKS = 50  # items between two looks at the annotators
EARLY, LATE, AFTER = 500, 2000, 1500  # items before a drop, and watched after it
FALL = 0.1
LENGTHS = (1000, 3000, 10_000)  # items of long projects
LAWS = {"normal": "normal", "two kinds": "two kinds", "few hard": "a few hard ones"}
CARELESS = (1.0, 0.6, 0.3)  # shares of answers at random
DROPS = ("ours", "notice", "oracle", "learning")
TOLD = ("normal", "few hard")  # how batches differ for an oracle that is told the moment of a fall
REFERENCES = ("life", *TOLD)


def page(figures: dict[str, float]) -> str:
    alarms = {
        "safe": "the safe bounds, 95%",
        "fixed": "the ordinary 95% interval",
        "notice": "notice: people agree less on the latest items",
        "drop": "alert `drop`",
        "class": "alert `class_drop`",
        "named": "alert `annotator_apart`",
        "paused": "a threshold: somebody below 80% agreement with the majority, from the tenth item on",
    }
    quiet_rows = "\n".join(
        f"| {words} | " + " | ".join(_share(figures, batch, name) for batch in ORDERS) + " |"
        for name, words in alarms.items()
    )
    drop_rows = "\n".join(
        f"| {before:,} | " + " | ".join(_delay(figures, f"drop {before} {name}") for name in DROPS)
        + " | "
        + " | ".join(_ratio(figures, f"drop {before}", one, of) for one in DROPS[:2] for of in DROPS[2:])
        + " |"
        for before in (EARLY, LATE)
    )  # fmt: skip
    reference_rows = "\n".join(
        f"| {before:,} | " + " | ".join(_delay(figures, f"drop {before} {name}") for name in REFERENCES)
        + f" | {_ratio(figures, f'drop {before}', 'notice', 'life')} |"
        for before in (EARLY, LATE)
    )  # fmt: skip
    careless_rows = "\n".join(
        f"| {share:.0%} | "
        + " | ".join(_delay(figures, f"careless {share} {name}") for name in ("ours", "oracle", "same", "threshold"))
        + f" | {_ratio(figures, f'careless {share}', 'ours', 'oracle')} | {_ratio(figures, f'careless {share}', 'ours', 'same')} "
        f"| {figures[f'careless {share} others']:.1%} |"
        for share in CARELESS
    )
    long_rows = "\n".join(
        f"| {words} | {figures[f'long {law} rounds']:,.0f} | "
        + " | ".join(_rate(figures[f"long {law} {items}"], figures[f"long {law} rounds"]) for items in LENGTHS)
        + " |"
        for law, words in LAWS.items()
    )
    return f"""# Watching: false alarms and delays

Written by `benchmarks/watching.py`: projects of {ITEMS:,} items of unequal difficulty, {PEOPLE} annotators, {PER_ITEM}
annotations per item. Four times during a project 2% of the labels so far are changed and 1% of the annotations deleted,
which rebuilds what is watched. Everything is checked after every item (annotators after every {LOOKS}), and an alarm at any
moment counts.

## Where nothing is wrong

{sum(figures[f"{batch} rounds"] for batch in ORDERS):,.0f} projects. Each row shows the share of them in which it appears, or is wrong, at some moment, with its standard error
(if it never does, with a 95% upper bound). Batches begin anywhere and
differ in difficulty by {UNEQUAL} logits. An interval is wrong when it excludes the mean probability of agreement of the items
so far.

| checked all the time | random order | batches of {" | batches of ".join(str(each) for each in ORDERS[1:])} |
|---|{"--:|" * len(ORDERS)}
| projects | {" | ".join(f"{figures[f'{batch} rounds']:,.0f}" for batch in ORDERS)} |
{quiet_rows}

At the end the safe bounds are ± {figures["0 half"]:.3f}, the ordinary interval ± {figures["0 fixed_half"]:.3f}. The notice says only
that people agree less on the latest items than random order allows. In batches that is true, since people do agree less on a harder batch; it
is false in random order alone. The alert says that they agree less by more than batches differ.

What is proven, and what is only measured: for labels that are not changed afterwards, the safe bounds exclude the truth
in at most 5% of projects in any order, and the notice and the alert `drop` appear in at most 5% if items close in random
order, however long the project. Edits and deletions rebuild the sequence, which the proofs do not cover. In batches the
alert's rate is only measured.

## Longer projects in batches

Share of projects with the alert `drop` up to that number of items, where nobody changes, in batches of
{ORDERS[-1]} items and without edits. "Two kinds": half of the batches are harder by {2 * UNEQUAL:.1f} logits. "A few hard ones": {RARE:.0%} of the
batches are harder by {2.6 * UNEQUAL:.1f} logits, so that several in a row look like a change of the people.

| difficulty of batches | projects | {" | ".join(f"{each:,} items" for each in LENGTHS)} |
|---|--:|{"--:|" * len(LENGTHS)}
{long_rows}

## Where agreement falls by {FALL}

Median number of items until the fall is found ({figures["fewer"]:,.0f} projects each, in random order, watched for {AFTER:,} items after the
fall), and the share of projects where it was. The **all-knowing oracle** is CUSUM with the distributions before and after
the fall. The **learning oracle** knows only how much agreement varies, and has to learn the level, as spagree does. Neither allows
for batches. Both raise alarms in 5% of the projects of the same length without a fall; the alert and the notice
do so in at most 5%, however long a project in random order runs. Ratios are those of the median delays.

| items before the fall | alert `drop` | notice | all-knowing oracle | learning oracle | alert / all-knowing | alert / learning | notice / all-knowing | notice / learning |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{drop_rows}

What do these guarantees cost? Two more oracles, on the same projects, share them. The **life-long oracle** is all-knowing
too, but raises alarms in at most 5% of the projects however long they run, as the notice does: it averages the likelihood
ratio over all moments of a fall. The **told oracle** is told the moment of the fall and how long batches are; like the
alert it has to learn from the items before how much batches differ. It raises alarms in 5% of the projects in which the
difficulty of batches is normal, or, more strictly, a few are hard (as above). It is a t test of the batches after that
moment against those before: one such test, not the best possible.

| items before the fall | life-long oracle | told oracle, normal batches | told oracle, a few hard ones | notice / life-long |
|--:|--:|--:|--:|--:|
{reference_rows}

The mean agreement of batches of {ORDERS[-1]} items has a standard deviation of {figures["batches differ"]:.3f}, about as much as the fall: a hard batch
and a batch after the fall look alike, and only several in a row tell them apart. That is why the alert is far slower than
oracles that may rely on random order, and why the notice comes first. An oracle that knows the moment, and that no batch is
extreme, is much faster after {LATE:,} items; if a few batches may be hard, knowing the moment does not help: that oracle
finds {figures[f"drop {LATE} few hard found"]:.0%} of the falls, and the alert {figures[f"drop {LATE} ours found"]:.0%}.

## Where one of {PEOPLE} annotators answers at random

Median number of their own items until they are named ({figures["fewer"]:,.0f} projects each); everybody has about {ITEMS * PER_ITEM // PEOPLE} items. The first
oracle (all-knowing) knows how careless they are and how often careful people agree, and relies on everyone having similar
items. The second (same items) knows how careless they are and, as spagree does, compares people only on the same items. The threshold is the one above, which
pauses careful people too.

| answers at random | alert `annotator_apart` | all-knowing oracle | oracle on the same items | threshold | alert / all-knowing | alert / same items | someone else named |
|--:|--:|--:|--:|--:|--:|--:|--:|
{careless_rows}

"–": fewer than half were found.
"""


def _share(figures: dict[str, float], batch: int, name: str) -> str:
    return _rate(figures[f"{batch} {name}"], figures[f"{batch} rounds"])


def _rate(share: float, rounds: float) -> str:
    """A share with its standard error; where there was none, with the largest rate that is compatible with that (95%)."""
    if share == 0:
        bound = 1 - 0.05 ** (1 / rounds)
        return f"none (< {bound:.{1 if bound >= 0.001 else 2}%})"
    return f"{share:.1%} ± {(share * (1 - share) / rounds) ** 0.5:.1%}"


def _delay(figures: dict[str, float], name: str) -> str:
    delay, share = figures[f"{name} delay"], figures[f"{name} found"]
    return f"{'–' if delay > 10**8 else f'{delay:.0f}'} ({share:.0%})"


def _ratio(figures: dict[str, float], name: str, one: str, oracle: str) -> str:
    ours, theirs = figures[f"{name} {one} delay"], figures[f"{name} {oracle} delay"]
    return "–" if max(ours, theirs) > 10**8 else f"{ours / theirs:.1f}"
