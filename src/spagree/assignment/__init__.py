"""Who annotates what: a random, balanced design made before the round starts.

    design    items × people → who gets which item: balanced loads and pairs, limits and skills kept
    files     items, people and earlier assignments from files; a design as a CSV file and as tasks for annotation tools
    returned  what came back, compared with what was assigned

Every item gets the same number of annotations, whatever its labels turn out to be: SPA's one assumption holds by
design.
"""

from spagree.assignment.design import Assignment, Balance, Person, assign
from spagree.assignment.files import write_tasks
from spagree.assignment.returned import Returned, check_returned

__all__ = ["Assignment", "Balance", "Person", "Returned", "assign", "check_returned", "write_tasks"]
