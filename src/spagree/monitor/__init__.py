"""Agreement while people annotate: a durable store, what tools send, alerts, and the live page.

    hooks, feeds          what tools send and sources hold → events
    ledger                events → what counts now, in memory
    store                 … and on disk, before it is acknowledged
    figures, alerts       what counts now → figures and alerts
    pages, server         figures → the live page, JSON, server-sent events, metrics

Everything here needs the extra ``monitor``; nothing else in spagree imports it.
"""
