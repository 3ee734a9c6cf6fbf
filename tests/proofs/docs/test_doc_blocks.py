"""Every command block of README.md and the documentation that needs no cluster is run (see tests/doc_blocks.py)."""

import os
from typing import Any

import pytest

from tests.doc_blocks import Block, blocks, differs, environment, folder_with_examples, run
from tests.places import ROOT

UPDATE = bool(os.environ.get("KFIX_UPDATE_GOLDEN"))


@pytest.mark.parametrize("block", [block for block in blocks() if not block.marker], ids=str)
def test_a_block_runs_without_a_cluster(block, tmp_path):
    printed = run(block, folder_with_examples(tmp_path / "here"), environment(tmp_path), timeout=250)
    wrong = [(c, p) for c, p in zip(block.commands, printed, strict=True) if differs(c, p)]
    if wrong and UPDATE:
        rewrite(block.page, wrong)
    else:
        assert wrong == [], "KFIX_UPDATE_GOLDEN=1 rewrites the page"


def rewrite(page: str, wrong: list[Any]) -> None:
    path = ROOT / page
    text = path.read_text()
    for command, printed in wrong:
        text = text.replace(f"$ {command.text}\n{command.output}", f"$ {command.text}\n{printed.strip(chr(10))}\n")
    path.write_text(text)


def test_a_block_without_a_marker_that_needs_a_cluster_is_found_out(tmp_path):
    block = Block("page.md", 1, "sh", "kfix diagnose --from nothing.json\n", "")
    with pytest.raises(AssertionError, match="exit code 2, not 0"):
        run(block, folder_with_examples(tmp_path / "here"), environment(tmp_path))
