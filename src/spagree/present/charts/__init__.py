"""Charts as Vega-Lite, drawn by a page, shown in a notebook or saved as SVG, PDF or PNG.

spec        what all charts are made of: layers, scales, tooltips, figures with intervals, and the colours
agreement   the charts of an agreement and of the monitor
studies     lines and points: studies, plans, comparisons
save        files, and objects for notebooks
"""
