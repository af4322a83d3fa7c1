"""The paper's experiments, tables and figures, regenerated from the public API (`spagree paper …`).

    raw, standins ─ datasets ─ LabelSet ─ rounds (kernels) ─ Curves ─ experiments ─ CSV and figures
    curves, unbiased: exact figures that need no data

Nothing is downloaded: docs/paper/data.md says what to put where. Where a data set of the paper is not there, a
simulated stand-in of the same size takes its place and is called so wherever its name appears.
"""
