"""Annotations → Tally: a tiny integer summary that merges by addition (docs/mathematics.md §3).

tally      the summary itself, and items by cluster and by group
count      annotations → tally, one expression on the native engine
policies   what counts: repeats, the first k in time
labels     how labels are spelled, and labels that are sets
items      what is behind a tally: its items, with their labels and texts, where the annotations are
people     the kinds of annotations of each annotator
fetch      annotations as whole numbers, fetched once
live       a tally that grows and shrinks by one annotation
saved      tallies in files
engines    what differs between engines when a result is fetched
"""
