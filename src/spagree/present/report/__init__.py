"""One self-contained HTML page: everything a reader asks, in the order they ask it.

parts      what a page is made of: tables, figures, lists and cards, all plain values
sections   the questions below the first screen, with their answers
layers     the page of marks, with the texts they stand in
page       the first screen, and all of it as HTML, one template each; it loads nothing and runs only its own scripts
"""
