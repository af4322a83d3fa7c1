"""Charts as Vega-Lite, drawn by a page, shown in a notebook or saved as SVG, PDF or PNG."""
