"""INCEpTION: the table of the agreement page."""

from __future__ import annotations

from exports import Write, rows

from spagree.read import read

INCEPTION = (
    "Type,Collection,Document,Layer,Feature,Position,Flags,Ann Doe,bob\n"
    'SpanPosition,,d.txt,de.pos.Token,value,"[1-2]",USED,NOUN,NOUN\n'
    'SpanPosition,,d.txt,de.pos.Token,value,"[3-4]",USED,VERB,<no label>\n'
    'SpanPosition,,d.txt,de.pos.Token,value,"[5-6]",INCOMPLETE,VERB,<no annotation>\n'
)


def test_inception_agreement_table(write: Write) -> None:
    found = read(write("i.csv", INCEPTION))
    assert rows(found) == [
        ("d.txt [1-2]", "Ann Doe", "NOUN"),
        ("d.txt [1-2]", "bob", "NOUN"),
        ("d.txt [3-4]", "Ann Doe", "VERB"),
        ("d.txt [5-6]", "Ann Doe", "VERB"),
    ]
    assert dict(found.left_out) == {"empty": 1} and found.understood.columns["label"] == "Token.value"
    old = INCEPTION.replace(",Flags", "").replace(",USED", "").replace(",INCOMPLETE", "").replace("<no label>", "null")
    assert len(rows(read(write("i.csv", old)))) == 4
