"""Who annotates what: a random, balanced design made before the round starts.

    design    items × people → who gets which item: balanced loads and pairs, limits and skills kept
    augment   finds room for an annotation when everyone suitable is full
    tasks     a design → a CSV file, and task files that annotation tools import
    lists     items, people and earlier assignments from files
    returned  what came back, compared with what was assigned

Every item gets the same number of annotations, whatever its labels turn out to be: SPA's one assumption holds by
design.
"""

from spagree.assignment.augment import Person
from spagree.assignment.design import Assignment, Balance, assign
from spagree.assignment.returned import Returned, check_returned
from spagree.assignment.tasks import save, write_tasks

__all__ = ["Assignment", "Balance", "Person", "Returned", "assign", "check_returned", "save", "write_tasks"]
