import pytest

from tests.unit.core.disk.building import Disk


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path / "b1")
