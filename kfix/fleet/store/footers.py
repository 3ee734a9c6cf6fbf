"""Reads Parquet files of the store. The footer of a file that many clusters share is parsed once a process.

Pages have checksums, which each reader verifies: a byte that the disk changed is an error, and no other value.
"""

from functools import lru_cache
from typing import Any, Final

import pyarrow.parquet as pq

from kfix.fleet.store.places import StoreLocation, place_of

#: A merged file has a footer of about 1 MB in memory.
_KEPT: Final = 32
#: How all files are written.
WRITTEN: Final = {"compression": "zstd", "store_schema": False, "write_page_checksum": True}


def read_table(place: StoreLocation, **options: Any) -> Any:
    """Reads a file as a pyarrow.Table; `options` are those of pyarrow. Raises what pyarrow and the store raise."""
    with place.system.open_input_file(place.path) as opened:
        return pq.read_table(opened, page_checksum_verification=True, **options)


def parquet_file(place: StoreLocation, **options: Any) -> Any:
    """Returns an open pyarrow.parquet.ParquetFile; `options` are its own. Raises what pyarrow and the store raise."""
    info = place.system.get_file_info(place.path)
    opened = place.system.open_input_file(place.path)
    try:
        footer = _footer(str(place), info.size, info.mtime_ns)
        return pq.ParquetFile(opened, metadata=footer, page_checksum_verification=True, **options)
    except BaseException:
        opened.close()
        raise


@lru_cache(_KEPT)
def _footer(text: str, _size: int | None, _changed: int | None) -> Any:
    """Files are never written twice; size and time tell one that was damaged meanwhile."""
    place = place_of(text)
    with place.system.open_input_file(place.path) as opened:
        return pq.read_metadata(opened)
