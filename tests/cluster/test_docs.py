"""The command blocks of README.md and the documentation that need brokers, as they stand there."""

import pytest

from tests.doc_blocks import BROKERS, ZOOKEEPERS, Block, blocks, differs, environment, folder_with_examples, run

ON_THE_LAB = [block for block in blocks() if block.marker == "run: lab"]
OWN_LAB = [block for block in blocks() if block.marker == "run: own lab"]


def checked(block, folder, env):
    printed = run(block, folder, env, timeout=150)
    assert [(c, p) for c, p in zip(block.commands, printed, strict=True) if differs(c, p)] == []


def test_the_blocks_that_need_a_cluster_run_on_one(lab, tmp_path):
    lab.break_("healthy")  # a topic with records, and a group in every offsets partition
    for number, block in enumerate(ON_THE_LAB):
        text = BROKERS.sub(lab.bootstrap_servers, ZOOKEEPERS.sub(lab.zookeeper_connect, block.text))
        here = Block(block.page, block.line, block.language, text, block.marker)
        folder = folder_with_examples(tmp_path / f"block-{number}")
        checked(here, folder, environment(tmp_path, {"B": lab.bootstrap_servers}))


@pytest.mark.parametrize("block", OWN_LAB, ids=str)
def test_a_block_that_starts_a_lab_of_its_own_runs(block, tmp_path):
    home = {"KFIX_LAB_HOME": str(tmp_path / "labs")}
    folder, env = folder_with_examples(tmp_path / "here"), environment(tmp_path, home)
    try:
        checked(block, folder, env)
    finally:
        run(Block(block.page, block.line, "sh", "kfix lab down --all\n", ""), folder, env)
