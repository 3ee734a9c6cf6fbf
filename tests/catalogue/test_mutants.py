"""The list of faults that the tests must find: it follows the code, and its page the results."""

import os
from collections import Counter

from tests.mutants.faults import PAGE, faults, results
from tests.mutants.page import page
from tests.places import ROOT


def test_each_fault_can_be_put_into_its_file_in_one_way():
    """`old` occurs once: a change of the code changes the list too, and no fault is lost without notice."""
    wrong = []
    for fault in faults():
        try:
            changed = fault.put_into((ROOT / fault.file).read_text(encoding="utf-8"))
            if fault.file.endswith(".py"):
                compile(changed, fault.file, "exec", dont_inherit=True)
        except (OSError, ValueError, SyntaxError) as error:
            wrong.append(str(error))
    assert wrong == []


def test_no_fault_is_in_the_list_twice():
    """Two rows with other words for one change would count twice."""
    made = Counter((each.file, each.put_into((ROOT / each.file).read_text(encoding="utf-8"))) for each in faults())
    assert [file for (file, _), n in made.items() if n > 1] == []


def test_each_fault_has_a_result_or_a_reason_why_no_test_can_see_it():
    """`python -m tests.mutants --record` runs those without one."""
    known = results()
    assert [fault.id for fault in faults() if not fault.equivalent and fault.id not in known] == []


def test_each_survivor_has_a_reason():
    known = results()
    lived = [fault for fault in faults() if fault.id in known and not known[fault.id].is_killed]
    assert [fault.id for fault in lived if not (fault.survives or fault.equivalent)] == []


def test_the_fast_tests_find_nine_of_ten_faults():
    seen = [fault for fault in faults() if not fault.equivalent]
    killed = [fault for fault in seen if (known := results().get(fault.id)) and known.is_killed]
    assert len(killed) >= 0.9 * len(seen)


def test_the_page_agrees_with_the_list_and_with_the_results():
    if os.environ.get("KFIX_UPDATE_GOLDEN"):
        PAGE.write_text(page(results(), faults()), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(results(), faults()), "python -m tests.mutants --render rewrites it"
