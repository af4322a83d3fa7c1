"""Tables as people publish them, after the real files: read rightly, or refused with a first advice that is right."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest

import spagree
from spagree.errors import Message, Option, SpagreeError

Votes = list[tuple[int, str, str]]
"""Item, annotator, label."""


def voted(labels: Sequence[str], each: int = 4, of: int = 4, items: int = 60) -> Votes:
    """Some of the annotators of each item, mostly of one opinion."""
    random, votes = Random(7), []
    for item in range(items):
        true = random.choice(labels)
        votes += [
            (item, f"w{who}", true if random.random() < 0.75 else random.choice(labels))
            for who in sorted(random.sample(range(of), each))
        ]
    return votes


def given(votes: Votes) -> dict[int, dict[str, str]]:
    items: dict[int, dict[str, str]] = {item: {} for item, _, _ in votes}
    for item, who, label in votes:
        items[item][who] = label
    return items


def most(labels: Iterable[str]) -> str:
    return Counter(labels).most_common(1)[0][0]


def table(header: Sequence[str], rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([*([header] if header else []), *rows])
    return stream.getvalue()


def lines(objects: Iterable[object]) -> str:
    return "\n".join(map(json.dumps, objects))


def sentence(item: int) -> str:
    return f"A person in picture {item} is doing something, and {item % 7} dogs look on."


NLI, SCALE, SIDES = ("entailment", "neutral", "contradiction"), ("1", "2", "3", "4", "5"), ("A", "B", "tie")
VOTED = ("agree", "disagree", "pass")
FEELINGS, YES_NO = ("joy", "anger", "fear"), ("no", "yes")


def snli(votes: Votes) -> str:
    header = ["gold_label", "sentence1", "sentence2", "captionID", "pairID", *(f"label{n}" for n in range(1, 5))]
    rows = ([most(v.values()), sentence(i // 3), sentence(i), f"{i // 3}.jpg", f"{i}n", *v.values()] for i, v in
            given(votes).items())  # fmt: skip
    return table(header, rows, "\t")


def chaos_nli(votes: Votes) -> str:
    def row(item: int, labels: list[str]) -> dict[str, Any]:
        counts = Counter(labels)
        dist = [round(counts[label] / len(labels), 3) for label in NLI]
        example = {"uid": f"{item}n", "premise": sentence(item), "hypothesis": "x"}
        label = {"majority_label": most(labels), "label_dist": dist, "label_count": [counts[each] for each in NLI]}
        return {"uid": f"{item}n", "label_counter": counts, **label, "entropy": item / 7, "example": example}

    return lines(row(item, list(labels.values())) for item, labels in given(votes).items())


def dices(votes: Votes) -> str:
    header = ["rater_id", "rater_gender", "rater_age", "item_id", "context", "response", "safety_gold", "Q_overall"]
    gold = {item: most(labels.values()) for item, labels in given(votes).items()}
    ages = ["gen z", "gen x+", "millenial"]
    return table(
        header,
        ([who, "MF"[int(who[1]) % 2], ages[int(who[1]) % 3], item, sentence(item), f"LAMDA: {item}", gold[item], label]
         for item, who, label in votes),
    )  # fmt: skip


def hate_check(votes: Votes) -> str:
    header = ["mhc_case_id", "functionality", "test_case", "label_gold", *(f"label_annot_{n}" for n in range(1, 4))]
    return table(
        [*header, "label_annot_maj"],
        ([f"german-{i}", "derog_neg", sentence(i), NLI[i % 3], *v.values(), most(v.values())]
         for i, v in given(votes).items()),
    )  # fmt: skip


def toxicity(votes: Votes) -> str:
    random = Random(1)
    header = ["comment_id", "worker", "comment_text", "toxic", "insult", "threat", "confidence"]
    others = [[random.randrange(2), random.randrange(2), random.randrange(1, 6)] for _ in votes]
    rows = ([i, who, sentence(i), label, *more] for (i, who, label), more in zip(votes, others, strict=True))
    return table(header, rows)


def judge_bench(votes: Votes) -> str:
    instances = [
        {"id": i, "instance": {"source": sentence(i)}, "annotations": {"overall quality": {
            "individual_human_scores": [*map(int, v.values())], "majority_human": int(most(v.values()))}}}
        for i, v in given(votes).items()
    ]  # fmt: skip
    about = [{"metric": "overall quality", "category": "graded", "worst": 1, "best": 5}]
    return json.dumps({"dataset": "x", "annotations": about, "instances": instances}, indent=1)


def pavlick(votes: Votes) -> str:
    return lines(
        {"id": f"rte-{i}", "premise": sentence(i), "hypothesis": f"h {i}", "task": "rte", "labels": [*v.values()]}
        for i, v in given(votes).items()
    )


def sentence_pairs(votes: Votes) -> str:
    rows = ([sentence(i), f"h {i}", str([float(x) for x in v.values()])] for i, v in given(votes).items())
    return table(["premise", "hypothesis", "ratings"], rows)


def le_wi_di(votes: Votes) -> str:
    def entry(labels: dict[str, str]) -> dict[str, Any]:
        shares = {label: size / len(labels) for label, size in Counter(labels.values()).items()}
        shown = {"annotations": ",".join(labels.values()), "annotators": ",".join(labels)}
        return {**shown, "lang": "en", "hard_label": most(labels.values()), "soft_label": {"0": 0, "1": 0, **shares}}

    return json.dumps({str(i): {"text": sentence(i), **entry(labels)} for i, labels in given(votes).items()})


def two_coders(votes: Votes) -> str:
    header = ["#", "Tweet", "JK", "MS", "disagree?", "adjudicated", "Comment"]
    rows = []
    for item, labels in given(votes).items():
        one, other = labels.values()
        is_same = one == other
        note = "see guideline 3.2" if item % 5 == 0 else ""
        rows.append([item, sentence(item), one, other, "" if is_same else "x", "" if is_same else one, note])
    return table(header, rows, ";")


def counted(votes: Votes) -> str:
    rows = []
    for item, labels in given(votes).items():
        sizes = Counter(labels.values())
        shares = [len(labels), most(labels.values()), f"{max(sizes.values()) / len(labels):.2f}"]
        rows.append([f"img_{item:04d}.jpg", *(sizes[label] for label in FEELINGS), *shares])
    return table(["filename", *FEELINGS, "num_raters", "winner", "agreement"], rows)


def tokens(votes: Votes) -> str:
    header = ["sent_id", "token_id", "token", "annotator_A", "annotator_B"]
    return table(header, ([i // 10, i % 10, f"tok{i}", *labels.values()] for i, labels in given(votes).items()))


def form(votes: Votes) -> str:
    people = sorted({who for _, who, _ in votes})
    items = given(votes)
    header = ["start", "end", "username", *(f"images/img{i}" for i in items), "_uuid", "_id"]
    rows = (
        [f"2024-01-01T10:0{n}:00", f"2024-01-01T10:1{n}:00", who, *(items[i].get(who, "") for i in items), f"u:{n}", n]
        for n, who in enumerate(people)
    )
    return table(header, rows)


def by_dialog(votes: Votes) -> str:
    return json.dumps(
        {f"dlg_{i}": [{"worker": w, "answer": x, "comment": ""} for w, x in v.items()] for i, v in given(votes).items()}
    )


def emotions(votes: Votes) -> str:
    random = Random(3)
    more = [[random.choice(["", *FEELINGS[1:]]), random.randrange(1, 4)] for _ in votes]
    rows = ([who, i, sentence(i), label, *rest] for (i, who, label), rest in zip(votes, more, strict=True))
    return table(["coder", "post_nr", "post", "primary_emotion", "secondary_emotion", "intensity"], rows)


def annotations(votes: Votes) -> str:
    rows = ([f"Dok{i // 8}", i % 8, who, label, "ja" if i % 3 else "nein"] for i, who, label in votes)
    return table(["Dokument", "Satz", "Annotator", "Kategorie", "sicher"], rows, ";")


def comments(votes: Votes) -> str:
    def row(item: int, labels: Iterable[str]) -> dict[str, Any]:
        sizes = Counter(labels)
        return {"comment-id": item, **{f"{label}s": sizes[label] for label in VOTED}, "moderated": 1}

    return lines(row(item, labels.values()) for item, labels in given(votes).items())


def joined(votes: Votes) -> str:
    rows = ([f"x{i}", "|".join(v.values()), most(v.values())] for i, v in given(votes).items())
    return table(["sentence_id", "all_labels", "maj"], rows, "\t")


def readers(votes: Votes) -> str:
    header = ["case", *(f"R{n}_{what}" for n in (1, 2, 3) for what in ("severity", "surgery"))]
    surgery = ("no", "yes")
    rows = ([f"case{i}", *(x for n, label in enumerate(v.values()) for x in (label, surgery[(i + n) % 3 % 2]))]
            for i, v in given(votes).items())  # fmt: skip
    return table(header, rows)


def pairs(votes: Votes) -> str:
    header = ["text_id", *(f"{what}_{n}" for n in (1, 2, 3) for what in ("worker", "answer"))]
    return table(header, ([f"t{i}", *(x for pair in v.items() for x in pair)] for i, v in given(votes).items()))


def spaced(votes: Votes) -> str:
    return table(["id", "ratings"], ([f"t{i}", " ".join(v.values())] for i, v in given(votes).items()))


def poll(votes: Votes) -> str:
    sizes = {i: Counter(v.values()) for i, v in given(votes).items()}
    return table(["question", "option", "votes"], ([i, x, size[x]] for i, size in sizes.items() for x in VOTED))


def pandas_frame(votes: Votes) -> str:
    rows = dict(enumerate(votes))
    names = ("item", "annotator", "label")
    return json.dumps({name: {n: row[p] for n, row in rows.items()} for p, name in enumerate(names)})


def turns(votes: Votes) -> str:
    rows = ([i // 8, i % 8, f"said {i}", who, label] for i, who, label in votes)
    return table(["conversation_id", "turn", "utterance", "annotator", "emotion"], rows)


def workers(votes: Votes) -> str:
    rows = ([f"t{i}", ";".join(v), ";".join(v.values())] for i, v in given(votes).items())
    return table(["id", "worker_ids", "labels"], rows)


def conclusion(votes: Votes) -> str:
    rows = ([f"문장 {i}", *v.values(), most(v.values())] for i, v in given(votes).items())
    return table(["문장", "작업자1", "작업자2", "작업자3", "결론"], rows)


def decimals(votes: Votes) -> str:
    return table(["Satz-Nr.", *(f"Kodierer {n}" for n in (1, 2, 3))],
                 ([i, *v.values()] for i, v in given(votes).items()), ";")  # fmt: skip


def beyond_people(votes: Votes) -> str:
    """Two groups of annotators, each numbered from 1, and what they read."""
    header = ["id", "tweet", *(f"{group}_{n}" for group in ("target", "control") for n in (1, 2, 3))]
    return table(header, ([i, sentence(i), *v.values()] for i, v in given(votes).items()))


def sparse(votes: Votes) -> str:
    """A column for each worker, filled for few items, beside the score of experts."""
    rows = ([i + 500, *(v.get(f"w{n}", "") for n in range(6)), i * 7 % 100] for i, v in given(votes).items())
    return table(["!amt_annotation_ids", "A1A2", "B2K9", "C3PO", "D5X1", "E7Q4", "F8Z2", "gold"], rows, "\t")


def known_answers(votes: Votes) -> str:
    rows = ([n, who, i, label, most(given(votes)[i].values())] for n, (i, who, label) in enumerate(votes))
    return table(["!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold"], rows, "\t")


def hash_header(votes: Votes) -> str:
    rows = ([f"arg{i}_arg{i + 70}", who, label, sentence(i), "b"] for i, who, label in votes)
    return table(["#id", "worker", "label", "a1", "a2"], rows, "\t")


def sightings(votes: Votes) -> str:
    rows = ([n + 90000, i + 100, who, label, "true"] for n, (i, who, label) in enumerate(votes))
    return table(["id", "observation_id", "user_login", "taxon_name", "current"], rows)


def form_in_groups(votes: Votes) -> str:
    header = ["start", "group_id/house", "group_id/surveyor", "group_obs/roof", "_id", "_uuid", "_index"]
    rows = (
        ["2024-01-01T10:00", f"H{i}", who, label, n + 5000, f"uu-{n}", n] for n, (i, who, label) in enumerate(votes)
    )
    return table(header, rows, ";")


def visits(votes: Votes) -> str:
    """Two readers, and a third wherever they differ."""
    rows = (
        [f"S{i // 3}", i % 3, *v.values(), "" if len({*v.values()}) == 1 else "PR"] for i, v in given(votes).items()
    )
    return table(["subject", "visit", "reader1", "reader2", "adjudicator"], rows)


def votes_of_reviewers(votes: Votes) -> str:
    rows = ([f"#{i}", sentence(i), *(x for pair in v.items() for x in pair), most(v.values())]
            for i, v in given(votes).items())  # fmt: skip
    parts = ("Reviewer A", "Reviewer A vote", "Reviewer B", "Reviewer B vote")
    return table(["Covidence #", "Title", *parts, "Consensus"], rows)


def trials(votes: Votes) -> str:
    """Workers, items and labels are all numbers, and every trial has its own."""
    rows = ([int(who[1:]), n % 210, 0, PICTURES[int(label)], label, int(label == "1"), i, 900 + n * 37 % 3000]
            for n, (i, who, label) in enumerate(votes))  # fmt: skip
    header = ["annotator_id", "trial_index", "is_attn_check", "chosen_category", "chosen_label", "correct_guess"]
    return table([*header, "cifar10_test_idx", "reaction_time"], rows)


def retest(votes: Votes) -> str:
    """Each reader read twice; the first time is the one that is meant."""
    rows = ([i, *(x for n, label in enumerate(v.values()) for x in (label, "g1" if (i + n) % 4 == 0 else label))]
            for i, v in given(votes).items())  # fmt: skip
    return table(["case", "reader1_t1", "reader1_t2", "reader2_t1", "reader2_t2"], rows)


def annotateurs(votes: Votes) -> str:
    rows = ([sentence(i), *v.values(), most(v.values())] for i, v in given(votes).items())
    return table(["phrase", "annotateur1", "annotateur2", "annotateur3", "vote_majoritaire"], rows, ";")


def judged(votes: Votes) -> str:
    """Objects annotator → label with its reason."""
    return lines(
        {"id": f"{i}n", "context": sentence(i), "old_labels": ["e"],
         "annotations": {who: {"label": label, "reason": sentence(i + 1)} for who, label in v.items()}}
        for i, v in given(votes).items()
    )  # fmt: skip


def by_question(votes: Votes) -> str:
    """Objects question → annotator → label."""
    return lines(
        {"id": f"{i}n", "votes": {"rude": v, "odd": {who: str(n % 2) for n, who in enumerate(v)}}}
        for i, v in given(votes).items()
    )


def few_of_many(votes: Votes) -> str:
    rows = ([f"e{i}", *(v.get(f"w{n}", "") for n in range(8))] for i, v in given(votes).items())
    return table(["essay", "kim", "lee", "park", "choi", "jung", "kang", "cho", "yoon"], rows)


def follow_up(votes: Votes) -> str:
    rows = ([i, *v.values(), i % 3, i * 7 % 3] for i, v in given(votes).items())
    return table(["patient", *(f"reader{n}_{when}" for when in ("baseline", "followup") for n in (1, 2))], rows)


PICTURES = ("airplane", "bird", "cat")

PUBLISHED: dict[str, tuple[Votes, Callable[[Votes], str]]] = {
    "snli_1.0_dev.txt": (voted(NLI), snli),
    "chaosNLI_snli.jsonl": (voted(NLI, 20, 20), chaos_nli),
    "dices_350.csv": (voted(("No", "Yes", "Unsure"), 8, 8), dices),
    "hatecheck_german.csv": (voted(("hateful", "non-hateful"), 3), hate_check),
    "toxicity_annotations.csv": (voted(("0", "1"), 4, 12), toxicity),
    "judge.json": (voted(SCALE, 3), judge_bench),
    "pavlick.jsonl": (voted(("-2", "-1", "0", "1", "2"), 20, 20), pavlick),
    "sentence-pairs.csv": (voted([f"{n}.0" for n in range(-50, 50)], 7, 7), sentence_pairs),
    "HS-Brexit_train.json": (voted(("0", "1"), 3, 9), le_wi_di),
    "stance_double_coded.csv": (voted(("FAVOR", "AGAINST", "NONE"), 2, 2), two_coders),
    "aggregated.csv": (voted(FEELINGS, 5, 5), counted),
    "ner_iaa.csv": (voted(("O", "B-PER", "I-PER"), 2, 2), tokens),
    "form_export.csv": (voted(("safe", "unsafe"), 7, 8, 6), form),
    "by_dialog.json": (voted(YES_NO, 3, 4), by_dialog),
    "annotationen.csv": (voted(("positiv", "negativ", "neutral"), 3, 3, 80), annotations),
    "comments.jsonl": (voted(VOTED, 9, 9, 40), comments),
    "labels_joined.tsv": (voted(("A", "B"), 3, 5), joined),
    "readers.csv": (voted(("mild", "severe"), 3, 3), readers),
    "emotions.csv": (voted(FEELINGS, 3, 4), emotions),
    "pairs.csv": (voted(FEELINGS, 3, 6), pairs),
    "spaced.csv": (voted(SCALE, 5, 5), spaced),
    "poll.csv": (voted(VOTED, 7, 7), poll),
    "frame.json": (voted(YES_NO, 3, 3), pandas_frame),
    "turns.csv": (voted(FEELINGS, 2, 2), turns),
    "workers.csv": (voted(YES_NO, 3, 5), workers),
    "작업.csv": (voted(YES_NO, 3, 3, 40), conclusion),
    "saetze.csv": (voted(("0,5", "1,0", "1,5"), 3, 3), decimals),
    "brexit.csv": (voted(("0", "1"), 6, 6), beyond_people),
    "anger.standardized.tsv": (voted([str(n) for n in range(0, 101, 10)], 4, 6), sparse),
    "rte.standardized.tsv": (voted(("0", "1"), 5, 20), known_answers),
    "argument_pairs.csv": (voted(("a1", "a2", "equal"), 5, 12), hash_header),
    "identifications.csv": (voted(("Parus major", "Cyanistes caeruleus"), 3, 12), sightings),
    "kobo_groups.csv": (voted(("good", "bad", "ruined"), 2, 6), form_in_groups),
    "response.csv": (voted(("CR", "PR", "SD", "PD"), 2, 2), visits),
    "covidence.csv": (voted(("Include", "Exclude"), 2, 2), votes_of_reviewers),
    "cifar10h-raw.csv": (voted(("0", "1", "2"), 5, 12), trials),
    "test_retest.csv": (voted(("g1", "g2", "g3"), 2, 2), retest),
    "varierr.jsonl": (voted(NLI, 4, 4), judged),
    "by_question.jsonl": (voted(YES_NO, 3, 5), by_question),
    "essays.csv": (voted(SCALE, 3, 8), few_of_many),
    "follow_up.csv": (voted(("0", "1", "2"), 2, 2), follow_up),
    "phrases.csv": (voted(("oui", "non", "nsp"), 3, 3), annotateurs),
}


def advised(said: SpagreeError | str) -> dict[str, Any]:
    """The options that a message names first: in the line below it, or in its sentence until one comes again."""
    options: dict[str, Any] = {}
    for part in (said.message if isinstance(said, SpagreeError) else Message(said)).parts:
        if isinstance(part, Option) and part.values:
            if part.name in options and part.name != "label":
                break
            options[part.name] = part.values[0] if part.name == "format" else part.values
        elif isinstance(part, str) and options and ("\n" in part or "otherwise" in part):
            break
    return options


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_table_is_read_rightly_or_refused_with_the_way_to_read_it(name: str, tmp_path: Path) -> None:
    votes, write = PUBLISHED[name]
    (tmp_path / name).write_text(write(votes), encoding="utf-8", newline="")
    options: dict[str, Any] = {}
    try:
        found = spagree.measure(tmp_path / name)
    except SpagreeError as refused:
        found = spagree.measure(tmp_path / name, **(options := advised(refused)))
    for said in (warning.message for warning in found.warnings if warning.code == "single_labels"):
        found = spagree.measure(tmp_path / name, **(options := advised(said)))
    assert found.spa.value == pytest.approx(spagree.measure(votes).spa.value, abs=1e-12), options


def beside(votes: Votes, column: str, kinds: tuple[str, str]) -> str:
    """With two models, which answer as they like, and a column that tells them from people."""
    random = Random(9)
    labels = sorted({label for *_, label in votes})
    models = [(i, name, random.choice(labels), kinds[1]) for i in given(votes) for name in ("x1", "x2")]
    return table(["item", "annotator", "label", column], [*([*vote, kinds[0]] for vote in votes), *models])


def shuffled(votes: Votes) -> str:
    """Each annotator's file has its own order and its own numbers."""
    rows = []
    for who in sorted({who for _, who, _ in votes}):
        own = [(sentence(item), label) for item, name, label in votes if name == who]
        Random(who).shuffle(own)
        rows += [[n, who, text, label] for n, (text, label) in enumerate(own)]
    return table(["id", "annotator", "sentence", "label"], rows)


def batches(votes: Votes, names: bool = True) -> str:
    """Items are numbered anew in each batch, which others annotate."""
    rows = [[f"b{i // 20}", i % 20, f"{who} of {i // 20}", label] for i, who, label in votes]
    header = ["batch", "item", "annotator", "label"]
    return table(header, rows) if names else table(header[1:], (row[1:] for row in rows))


def flagged(votes: Votes) -> str:
    """A column computed from the others, under a name that says nothing."""
    rows = [[f"t{i}", *v.values(), str(int(len(set(v.values())) == 1))] for i, v in given(votes).items()]
    return table(["item", "anna", "ben", "cleo", "x"], rows)


def padded(votes: Votes) -> str:
    """-1 stands for those who did not answer."""
    rows = ([f"t{i}", str([int(v.get(f"w{n}", "-1")) for n in range(4)])] for i, v in given(votes).items())
    return table(["id", "labels"], rows)


def with_set(votes: Votes) -> str:
    return table(["id", "essay_set", "a", "b", "c"], ([f"t{i}", 1, *v.values()] for i, v in given(votes).items()))


def beside_bert(votes: Votes) -> str:
    rows = ([f"t{i}", *v.values(), FEELINGS[i % 3]] for i, v in given(votes).items())
    return table(["id", "anna", "ben", "cleo", "BERT"], rows)


def two_ways_of_nothing(votes: Votes) -> str:
    rows = ([i, *(v.get(f"w{n}", ("n/a", "N/A")[i % 2]) for n in range(4))] for i, v in given(votes).items())
    return table(["lesion", *(f"reader {n}" for n in range(1, 5))], rows)


def late_among_na(votes: Votes) -> str:
    """One annotator begins after most items, and NA stands where somebody has no label."""
    rows = ([f"d{i}", *(v.get(f"w{n}", "NA") for n in range(3))] for i, v in given(votes).items())
    return table(["doc_id", "coder_ann", "coder_bob", "coder_zoe"], rows)


LOOKS: list[tuple[str, Votes, Callable[[Votes], str], dict[str, Any]]] = [
    ("kinds_of_annotators", voted(YES_NO), lambda votes: beside(votes, "source", ("human", "gpt-4")), {}),
    ("kinds_of_annotators", voted(YES_NO), lambda votes: beside(votes, "is_model", ("0", "1")), {}),
    ("item_parts", voted(YES_NO), shuffled, {}),
    ("item_parts", voted(YES_NO, items=80), batches, {}),
    ("looks_missing", voted(("0", "1"), 3, 4, 120), padded, {"format": "lists"}),
    ("looks_constant", voted(SCALE, 3, 3), with_set, {"format": "wide", "item": "id"}),
    ("not_a_person", voted(FEELINGS, 3, 3), beside_bert, {"format": "wide"}),
    ("looks_missing", voted(("benign", "malignant"), 3, 4), two_ways_of_nothing, {}),
    ("looks_missing", voted(("benign", "malignant"), 3, 4), two_ways_of_nothing, {"normalize": True}),
    (
        "looks_missing",
        [v for v in voted(FEELINGS, 3, 3, 1800) if v[1] != "w2" or v[0] >= 1500],
        late_among_na,
        {"format": "wide"},
    ),
    ("looks_computed", voted(("0", "1"), 3, 3, 120), flagged, {"format": "wide", "item": "item"}),
]


@pytest.mark.parametrize(("code", "votes", "write", "options"), LOOKS)
def test_what_is_doubtful_is_told_with_the_option_that_mends_it(
    code: str, votes: Votes, write: Callable[[Votes], str], options: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "votes.csv").write_text(write(votes), encoding="utf-8")
    said = {each.code: each.message for each in spagree.measure(tmp_path / "votes.csv", **options).warnings}
    found = spagree.measure(tmp_path / "votes.csv", **{**options, **advised(said[code])})
    assert found.spa.value == pytest.approx(spagree.measure(votes).spa.value, abs=1e-12)
    assert code not in {each.code for each in found.warnings}


def test_items_numbered_anew_are_seen_without_a_column_that_says_so(tmp_path: Path) -> None:
    for name, votes in ("anew", voted(YES_NO, items=80)), ("same", [(i % 20, w, x) for i, w, x in voted(YES_NO)]):
        rows = batches(votes, names=False) if name == "anew" else table(["item", "annotator", "label"], sorted(votes))
        (tmp_path / f"{name}.csv").write_text(rows, encoding="utf-8")
    codes = [each.code for each in spagree.measure(tmp_path / "anew.csv").warnings]
    assert "numbered_anew" in codes
    codes = [each.code for each in spagree.measure(tmp_path / "same.csv", duplicates="first").warnings]
    assert "numbered_anew" not in codes


def test_items_numbered_anew_in_each_file_are_told_by_their_text(tmp_path: Path) -> None:
    votes = voted(YES_NO, 2, 2)
    for who in ("w0", "w1"):
        own = [(sentence(item), label) for item, name, label in votes if name == who]
        Random(who).shuffle(own)
        rows = ([n, *row] for n, row in enumerate(own))
        (tmp_path / f"{who}.csv").write_text(table(["id", "sentence", "label"], rows), encoding="utf-8")
    options = {"format": "per-annotator"}
    (said,) = [w.message for w in spagree.measure(tmp_path, **options).warnings if w.code == "several_texts"]
    found = spagree.measure(tmp_path, **options, **advised(said))
    assert found.spa.value == pytest.approx(spagree.measure(votes).spa.value, abs=1e-12)


@pytest.mark.parametrize("more", [{}, {"comments": lambda size: size.total()}])
def test_numbers_about_an_item_are_no_classes_beside_counts(
    more: dict[str, Callable[[Counter[str]], int]], tmp_path: Path
) -> None:
    votes, random = voted(VOTED, 5, 5) if not more else voted(VOTED, 5, 5)[:-9:2], Random(2)
    sizes = {i: Counter(v.values()) for i, v in given(votes).items()}
    header = ["id", "n_words", "reports", *VOTED, *more]
    rows = [[i, random.randint(4, 40), random.randint(0, 9), *(size[x] for x in VOTED), *(f(size) for f in more.values())]
            for i, size in sizes.items()]  # fmt: skip
    (tmp_path / "votes.csv").write_text(table(header, rows))
    found = spagree.measure(tmp_path / "votes.csv", format="counts")
    assert found.data.classes == len(VOTED) and "columns_aside" in {each.code for each in found.warnings}


def test_a_table_of_how_often_two_annotators_said_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(table(["", "yes", "no"], [["yes", 40, 3], ["no", 5, 30]]))
    for options in {}, {"format": "counts"}, {"format": "wide"}:
        with pytest.raises(spagree.DataError, match="rows and columns have the same names"):
            spagree.measure(tmp_path / "votes.csv", **options)


def test_shares_of_labels_are_no_labels(tmp_path: Path) -> None:
    frame = polars.DataFrame({"id": range(8), "label_dist": [[0.25, 0.75], [0.5, 0.5]] * 4})
    with pytest.raises(spagree.DataError, match="add up to 1 in every row, as shares of labels do"):
        spagree.measure(frame, format="lists", label="label_dist")


@pytest.mark.parametrize("name", ["zusammen", "schlüssel"])
def test_a_majority_and_a_key_are_seen_by_their_labels_among_annotators(name: str, tmp_path: Path) -> None:
    votes = voted(NLI, 4, 5, 700)
    keys = [(i, name, most(v.values()) if name == "zusammen" else NLI[i % 3]) for i, v in given(votes).items()]
    if name == "schlüssel":
        random = Random(5)
        votes = [(i, who, NLI[i % 3] if random.random() < 0.7 else random.choice(NLI)) for i, who, _ in votes]
    codes = {}
    for with_key in (False, True):
        path = tmp_path / f"{with_key}.csv"
        path.write_text(table(["item", "annotator", "label"], [*votes, *(keys if with_key else [])]), encoding="utf-8")
        codes[with_key] = {w.code for w in spagree.measure(path).warnings if name in w.message}
    assert codes[False] == set() and codes[True] & {"looks_like_consensus", "looks_like_reference"}


def test_known_answers_of_some_items_are_seen_under_any_name(tmp_path: Path) -> None:
    key = {item: label for item, _, label in voted(NLI)}
    rows = [[*vote, key[vote[0]] if vote[0] % 4 == 0 else ""] for vote in voted(NLI)]
    (tmp_path / "votes.csv").write_text(table(["item", "annotator", "label", "screening"], rows))
    assert "control_questions" in {warning.code for warning in spagree.measure(tmp_path / "votes.csv").warnings}
