from __future__ import annotations

import pytest

from tests.unit.core.tls.stores_of import make_stores


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """The folder of the stores that stores_of.py makes, their authority and the certificate that it issued."""
    folder = tmp_path_factory.mktemp("stores")
    return folder, *make_stores(folder)
