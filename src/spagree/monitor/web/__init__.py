"""Templates, styles and scripts of the live page."""
