"""The paper's experiments, tables and figures, regenerated from the public API (`spagree paper …`).

    datasets ─ LabelSet ─ rounds (kernels) ─ Curves ─ experiments ─ CSV and figures
    exact: figures that need no data

Nothing is downloaded: docs/paper/README.md says what to put where. If a data set of the paper is missing, a
simulated stand-in of the same size replaces it and is labelled as simulated wherever its name appears.
"""
