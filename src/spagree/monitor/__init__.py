"""Agreement while people annotate: a durable store, what tools send, alerts, and the live page.

    hooks, sources, demo  what tools send and sources hold → events
    ledger                events → what counts now, in memory
    store                 … and on disk, before it is acknowledged
    live, alerts          what counts now → figures and alerts
    page, server          figures → the live page, JSON, server-sent events, metrics

Everything here needs the extra ``monitor``; nothing else in spagree imports it.
"""
