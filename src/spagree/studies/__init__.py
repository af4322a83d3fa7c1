"""Annotations whose true agreement is known, and the paper's experiments, regenerated from the public API.

    simulation: what `spagree simulate` draws
    datasets ─ LabelSet ─ rounds (kernels) ─ Curves ─ experiments ─ CSV and figures
    exact: figures that need no data

Nothing is downloaded: docs/paper/README.md says what to put where. If a data set of the paper is missing, a
simulated stand-in of the same size replaces it and is labelled as simulated wherever its name appears.
"""
