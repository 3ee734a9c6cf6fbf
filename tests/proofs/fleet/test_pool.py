"""The pool: results in order and as they come, failures as rows, and none that stops another."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from kfix.core.errors import KfixError
from kfix.fleet.engines.pool import each
from tests.unit.fleet.working import double, slow_first, sometimes, who
from tests.waiting import seconds, wait_until

pytestmark = pytest.mark.timeout(120)


def items(n):
    return {f"c{i}": i for i in range(n)}


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_names(processes):
    assert [(d.name, d.result) for d in each(slow_first, items(40), processes=processes)] == [
        (f"c{i}", i) for i in range(40)
    ]


def test_none_gives_none():
    assert list(each(double, {}, processes=2)) == []


def test_work_is_spread_over_processes_and_not_done_here():
    pids = {d.result for d in each(who, items(64), processes=2)}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


def test_one_that_fails_or_kills_its_process_is_a_row_and_stops_no_other():
    found = {d.name: d for d in each(sometimes, items(20), processes=2)}
    assert [*found] == [f"c{i}" for i in range(20)]
    assert {n: d.error for n, d in found.items() if d.error} == {
        "c3": "three.parquet: is damaged",
        "c5": "internal error: RuntimeError: a bug",
        "c7": "its process died: out of memory, or killed",
    }
    assert all(d.result == int(n[1:]) for n, d in found.items() if not d.error)
    with pytest.raises(KfixError, match=r"c3: three\.parquet: is damaged"):
        found["c3"].value()


def test_whoever_stops_listening_stops_the_work():
    running = each(slow_first, items(400), processes=2)
    assert next(running).result == 0
    running.close()


def test_ctrl_c_ends_all_processes_without_a_trace(tmp_path):
    script = tmp_path / "many.py"
    script.write_text(
        textwrap.dedent("""
        import time
        from kfix.fleet.engines.pool import each
        if __name__ == "__main__":
            try:
                for done in each(time.sleep, {str(i): 0.2 for i in range(500)}, processes=2):
                    print(done.name, flush=True)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "0\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=seconds(60))
    # Ctrl-C may come between a name and the end of its line.
    assert out.splitlines()[-1].endswith("interrupted")
    assert "Traceback" not in err
    wait_until(lambda: not there(process.pid), "no process of the pool is left", 30)


def there(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
