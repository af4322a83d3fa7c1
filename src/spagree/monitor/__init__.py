"""Agreement while people annotate: a durable store, what tools send, alarms, and the live page.

    hooks, follow, demo   what a source says → events
    ledger                events → what counts now, in memory
    store, writer         … and on disk, before anybody is told
    live, alerts          what counts now → figures and alarms
    page, server          figures → the live page, JSON, server-sent events, metrics

Everything here needs the extra ``monitor``; nothing else in spagree imports it.
"""
