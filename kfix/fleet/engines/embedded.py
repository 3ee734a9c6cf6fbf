"""The engine for one machine: a process pool runs the work, DuckDB evaluates SQL. It needs no Java and no service."""

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from kfix.core.errors import KfixError, UnreachableError, UsageError
from kfix.fleet.engines.engine import View, plain
from kfix.fleet.engines.pool import Done, each
from kfix.fleet.store.footers import read_table
from kfix.fleet.store.stored import StoredRows

A = TypeVar("A")
R = TypeVar("R")
_AT: Final = re.compile(r"^LINE (\d+): (.*)\n( *)\^", re.MULTILINE)
_KIND: Final = re.compile(r"^[A-Z][A-Za-z -]* Error: ")
#: Errors that no file causes.
_OF_A_STATEMENT: Final = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.OutOfMemoryException,
    duckdb.ParserException,
    duckdb.PermissionException,
    duckdb.SyntaxException,
)
#: The memory of a statement, whatever the size of the machine; it writes what takes more to the temporary folder.
_MEMORY: Final = "2GB"
ONE_SELECT: Final = "only a single SELECT, WITH, DESCRIBE or SHOW statement is allowed"


class EmbeddedEngine:
    """The embedded engine. With `processes=1` all work is done in this process.

    Raises UsageError for fewer than 1 process.
    """

    def __init__(self, processes: int | None = None) -> None:
        if processes is not None and processes < 1:
            raise UsageError(f"{processes} processes: at least 1 is needed")
        self._processes = processes or min(os.cpu_count() or 1, 32)

    @property
    def name(self) -> str:
        return f"duckdb {duckdb.__version__} pool[{self._processes}]"

    @property
    def cores(self) -> int:
        return self._processes

    def each(self, work: Callable[[A], R], items: Mapping[str, A]) -> Iterator[Done[R]]:
        return each(work, items, processes=self._processes)

    def query(self, sql: str, tables: Mapping[str, Any]) -> Any:
        """Returns a pyarrow.Table with the types of `answers.plain`.

        Raises UsageError if the statement is wrong or writes, UnreachableError if a file cannot be read.
        """
        # What a statement is shown is temporary, so it ends with its cursor.
        with self._database.cursor() as db:
            try:
                _one_select(db, sql)
                _show(db, tables)
                return plain(db.sql(sql).to_arrow_table())
            except duckdb.Error as error:
                raise _user_error(_placed(db, sql, error), _damaged(tables, error)) from None
            except (pa.ArrowException, OSError) as error:
                raise UnreachableError(f"a file of the query cannot be read: {_line(error)}") from None

    @cached_property
    def _database(self) -> Any:
        """One for all statements, since opening one takes longer than a small statement. It can read no file, reach no
        network and see no variable of Python.
        """
        spill = tempfile.mkdtemp(prefix="kfix-query-")
        weakref.finalize(self, shutil.rmtree, spill, ignore_errors=True)
        opened = duckdb.connect()
        settings = {
            "threads": self._processes,
            "memory_limit": _MEMORY,
            # A folder of its own, never the current one.
            "temp_directory": spill,
            # That of Spark's sessions, too.
            "TimeZone": "UTC",
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_access": "false",
            "lock_configuration": "true",
        }
        for name, value in settings.items():
            opened.execute(f"SET {name} = {_text(str(value))}")
        return opened

    def over_parts(
        self, sql: str, tables: Mapping[str, Any], order: Sequence[str], work: Callable[[Iterator[Any]], R]
    ) -> list[R]:
        """All rows are one part."""
        return [work(iter(self.query(f"{sql}\nORDER BY {', '.join(order)}", tables).to_batches()))]

    def register(self, schema: str, root: str, tables: Mapping[str, str]) -> None:  # noqa: ARG002
        raise UsageError(f"--catalog: {schema} needs Spark: this engine has no catalog", hint="add --spark MASTER")


def _one_select(db: Any, sql: str) -> None:
    found = db.extract_statements(sql)
    if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
        kinds = ", ".join(s.type.name for s in found) or "nothing"
        raise UsageError(f"the statement is {kinds}: {ONE_SELECT}")


def _show(db: Any, tables: Mapping[str, Any]) -> None:
    """Registers the tables by name, in their order: a view may be over those before it."""
    for name, given in tables.items():
        if isinstance(given, View):
            db.execute(f"CREATE TEMP VIEW {_name(name)} AS {given.sql}")
        elif isinstance(given, pa.Table):
            db.register(name, given)
        else:
            _stored(db, name, given)


def _stored(db: Any, name: str, given: StoredRows) -> None:
    """Registers rows of the store."""
    if given.renames is not None:
        _stored(db, f"{name} as stored", replace(given, renames=None))
        db.register(f"{name} renamed", given.renames)
        db.execute(
            f"CREATE TEMP VIEW {_name(name)} AS SELECT s.* REPLACE (COALESCE(r.name, s.cluster) AS cluster) "  # noqa: S608
            f"FROM {_name(f'{name} as stored')} s LEFT JOIN {_name(f'{name} renamed')} r "
            "ON r.was = s.cluster AND s.day <= r.until AND s.day > r.after"
        )
    elif not given.files:
        db.register(name, given.schema.empty_table())
    else:
        db.register(name, _dataset(given))


def _dataset(given: StoredRows) -> Any:
    """Opens files with pyarrow, as the store does: DuckDB verifies no checksum of a page, and would need an extension
    from the network and its own keys for a URL. Columns that are newer than a file are null.
    """
    files = [file.place for file in given.files]
    if given.folder.local and (gone := [place for place in files if not Path(place.path).is_file()]):
        raise UsageError(f"{gone[0]}: does not exist, or is no file")
    return ds.FileSystemDataset.from_paths(
        [place.path for place in files],
        schema=given.schema,
        format=ds.ParquetFileFormat(page_checksum_verification=True),
        filesystem=given.folder.system,
        partitions=[
            (ds.field("day") == pa.scalar(file.day)) & (ds.field("run") == pa.scalar(file.run)) for file in given.files
        ],
    )


def _placed(db: Any, sql: str, error: Exception) -> Exception:
    """Returns the same error with the position in the statement, which an error of a relation lacks."""
    if isinstance(error, (duckdb.BinderException, duckdb.CatalogException)) and not _AT.search(str(error)):
        try:
            db.execute(sql)
        except duckdb.Error as placed:
            return placed
    return error


def _damaged(tables: Mapping[str, Any], error: Exception) -> str:
    """Returns the file that cannot be decoded and its reason; "" if the error names one, or is that of a statement."""
    if isinstance(error, _OF_A_STATEMENT) or ".parquet" in str(error):
        return ""
    for given in tables.values():
        for file in given.files if isinstance(given, StoredRows) else ():
            try:
                read_table(file.place)
            except (pa.ArrowException, OSError) as why:
                return f"{file.place}: is damaged: {_line(why)}"
    return ""


def _user_error(error: Exception, damaged: str = "") -> KfixError:
    if damaged:
        return UsageError(damaged)
    message = _KIND.sub("", _line(error))
    if found := _AT.search(str(error)):
        column = len(found[3]) - len(f"LINE {found[1]}: ") + 1
        message = f"line {found[1]}, column {max(column, 1)}: {message}"
    if isinstance(error, duckdb.OutOfMemoryException):
        return KfixError(f"the query needs more memory than is available: {message}")
    if isinstance(error, duckdb.PermissionException):
        return UsageError(
            f"the query is not permitted: {message}", hint="a query reads the tables it is given and no other file"
        )
    return UsageError(f"the query failed: {message}")


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:300]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
