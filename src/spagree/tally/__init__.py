"""Annotations → Tally: a tiny integer summary that merges by addition (docs/mathematics.md §3).

    tally      the summary itself
    count      annotations → tally, one expression on the native engine
    grouped    items by cluster and by group, which grouped_count counts
    policies   what counts: spelling, repeats, the first k in time
    items      item × class counts, for parts that cut through items
    state      a tally that grows and shrinks by one annotation
    saved      tallies in files
    engines    what differs between engines when a result is fetched

Nothing is imported here: the name ``spagree.tally`` belongs to the function users call.
"""
