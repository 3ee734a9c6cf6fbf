"""HDFS as a file system of pyarrow, without Java: pyarrow's own client needs the libraries of a Hadoop installation.

The same client, hdfs-native, is compiled into deltalake, so that files and commits have one configuration:
`HADOOP_CONF_DIR` and `HADOOP_USER_NAME`.
"""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from pyarrow import fs

from kfix.core.errors import UsageError
from kfix.core.extras import install

SCHEME: Final = "hdfs://"


def hdfs_of(url: str) -> tuple[Any, str]:
    """Returns (file system, path) of `hdfs://HOST:PORT/path` or `hdfs://NAMESERVICE/path`.

    Raises UsageError if hdfs-native is not installed or the URL has options or a user, ValueError if it is not valid.
    """
    try:
        from hdfs_native.fsspec import HdfsFileSystem  # noqa: PLC0415
    except ImportError:
        raise UsageError(
            f"{url}: an hdfs:// store needs hdfs-native",
            hint=f"{install('fleet', 'hdfs')}, here and where the workers run",
        ) from None
    at = urlsplit(url)
    if at.query or at.username is not None:
        raise UsageError(
            f"{url}: an hdfs:// URL has neither options nor a user",
            hint="set HADOOP_USER_NAME, and HADOOP_CONF_DIR to the folder with the site's *-site.xml",
        )
    try:
        # Without a host the client takes fs.defaultFS. Path and host are not decoded, nor does Spark decode them.
        system = HdfsFileSystem(host=at.hostname, port=at.port)
    except RuntimeError as error:  # hdfs-native's only kind of error
        raise UsageError(
            f"{url}: HDFS cannot be opened: {_reason(error)}",
            hint="name HOST:PORT of a NameNode, or set HADOOP_CONF_DIR to the folder with the site's *-site.xml",
        ) from None
    return fs.PyFileSystem(_Replacing(system)), at.path.rstrip("/") or "/"


def _reason(error: RuntimeError) -> str:
    """hdfs-native writes `InvalidArgument("No NameNode hosts found")`."""
    quoted = re.search(r'"(.+)"', str(error))
    return quoted[1] if quoted else str(error)


class _Replacing(fs.FSSpecHandler):  # type: ignore[misc]
    def move(self, src: str, dest: str) -> None:
        """Replaces `dest` in one step of the NameNode, if it exists."""
        self.fs.mv(src, dest, overwrite=True)
