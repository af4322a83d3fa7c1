"""Which column plays which role: named by the user, or guessed from common names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from spagree.errors import ColumnError
from spagree.read.annotations import ANNOTATOR, ITEM, LABEL, TIME
from spagree.read.contents import plain_name
from spagree.read.request import Request
from spagree.read.tables import Table, listed, shown

# Strongest first. Names within a group are equally good: two of them in one table are ambiguous.
# Neighbouring groups of the same word (an id before its plain name) are near-synonyms: the id wins.
COMMON_NAMES: Mapping[str, tuple[str, ...]] = {
    ITEM: (
        "itemid",
        "item",
        "taskid unitid documentid docid sampleid exampleid textid sentenceid instanceid recordid imageid tweetid "
        "commentid postid reviewid messageid utteranceid dialogueid conversationid videoid clipid audioid imgid "
        "photoid snippetid articleid paragraphid segmentid claimid promptid caseid pairid sentid",
        "origid originalid",
        "task unit document doc sample example instance record",
        "subjectids subjectid",
        "id",
        "sentence text image filename file question",
        "stimulus stimulusid case hit essayid essay abstractid abstract imagename utt utterance prompt claim",
        "questionid video",
    ),
    ANNOTATOR: (
        "annotatorid",
        "annotator",
        "annotatorname annotatedby",
        "workerid raterid coderid judgeid labelerid labellerid",
        "workerids annotatorids raterids amtworkerids amtworkerid",
        "ratername workername codername judgename labelername labellername",
        "worker rater coder judge labeler labeller labeledby labelledby",
        "userid participantid prolificpid prolificid",
        "user username participant email",
        "grader reader reviewer evaluator assessor screener moderator curator expert turker respondent rateremail",
    ),
    LABEL: (
        "label",
        "labels",
        "class category answer judgement judgment rating annotation response",
        "value choice tag code score",
        "verdict decision grade diagnosis vote winner preference",
    ),
    TIME: ("createdat submittedat updatedat annotatedat", "timestamp", "time datetime", "date"),
}


@dataclass(frozen=True, slots=True)
class Roles:
    """The position of the column of each role, and which of them were guessed."""

    positions: Mapping[str, int]
    guessed: frozenset[str]


def find(columns: Sequence[str], name: str, option: str) -> int:
    """The position of the column the user named: exact first, then ignoring case.

    >>> find(["Item", "label"], "item", "--item")
    0
    """
    exact = [i for i, column in enumerate(columns) if column == name]
    hits = exact or [i for i, column in enumerate(columns) if column.casefold() == str(name).casefold()]
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(f"{shown(columns[i])} (column {i + 1})" for i in hits)
        raise ColumnError(
            f"{option} {shown(name)} fits {len(hits)} columns: {names}; rename one of them, or give the exact name"
        )
    import difflib

    folded = {column.casefold(): column for column in columns}
    near = difflib.get_close_matches(str(name).casefold(), folded, n=1)
    hint = f"did you mean {shown(folded[near[0]])}? Columns" if near else "columns"
    raise ColumnError(f"{option} {shown(name)}: there is no such column; {hint}: {listed(columns)}")


def resolve(
    columns: Sequence[str],
    named: Mapping[str, str | None],
    roles: Sequence[str],
    taken: frozenset[int] = frozenset(),
) -> Roles:
    """The columns of the wanted roles: those the user named, and guesses for the others from the remaining columns.

    >>> roles = resolve(["task_id", "worker", "answer"], {}, ["item", "annotator", "label"])
    >>> dict(roles.positions), sorted(roles.guessed)
    ({'item': 0, 'annotator': 1, 'label': 2}, ['annotator', 'item', 'label'])
    """
    chosen = {role: find(columns, name, f"--{role}") for role in roles if (name := named.get(role)) is not None}
    for (role, position), (other, same) in combinations(chosen.items(), 2):
        if position == same:
            raise ColumnError(
                f"column {shown(columns[position])} was given for --{role} and for --{other}; "
                f"each needs a separate column (columns: {listed(columns)})"
            )
    taken |= set(chosen.values())
    positions = {role: chosen[role] if role in chosen else _guess(columns, role, taken) for role in roles}
    resolved = {role: position for role, position in positions.items() if position is not None}
    return Roles(resolved, frozenset(resolved.keys() - chosen.keys()))


def requested(table: Table, request: Request, roles: Sequence[str]) -> Roles:
    """The columns of these roles that the user named, or that can be guessed."""
    further = [name for role in (ITEM, ANNOTATOR) for name in request.names(role)[1:]]
    return resolve(table.columns, request.named(), roles, frozenset(several(table.columns, further, "--item")))


def places(table: Table, request: Request, first: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """All columns of each role, in the order in which they were named."""
    return {
        role: (position, *several(table.columns, request.names(role)[1:], f"--{role}"))
        for role, position in first.items()
    }


def several(columns: Sequence[str], names: Sequence[str], option: str = "--label") -> list[int]:
    """The positions of columns given as a list.

    >>> several(["id", "ann", "bob"], ["bob", "ann"])
    [2, 1]
    """
    positions = [find(columns, name, option) for name in names]
    twice = [name for name, position in zip(names, positions, strict=True) if positions.count(position) > 1]
    if twice:
        raise ColumnError(f"{option} names the column {shown(twice[0])} twice; name each column once")
    return positions


def _guess(columns: Sequence[str], role: str, taken: frozenset[int]) -> int | None:
    """The strongest common name; several equally strong ones are an error (time: no guess)."""
    for names in COMMON_NAMES.get(role, ()):
        hits = [i for i, column in enumerate(columns) if plain_name(column) in names.split() and i not in taken]
        if len(hits) == 1:
            return hits[0]
        if hits and role == TIME:
            return None
        if hits:
            matches = [columns[i] for i in hits]
            both = f", or both: --item {shown(matches[0])} --item {shown(matches[1])}" if role == ITEM else ""
            which = f"say which one, such as --{role} {shown(matches[0])}{both}"
            remedy = "rename one of them" if len(set(matches)) == 1 else which
            raise ColumnError(
                f"{len(hits)} columns could be the {role}: {listed(matches)}; {remedy} (columns: {listed(columns)})"
            )
    return None
