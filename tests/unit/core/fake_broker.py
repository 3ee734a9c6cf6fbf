"""A broker of one conversation: answers by API key with what kafka-python encodes, and notes what it is asked."""

import contextlib
import struct

from kafka.protocol import admin
from kafka.protocol import metadata as meta

from tests.listening import exactly, listening
from tests.wire import Reader

ALL_VERSIONS = {2: (0, 5), 3: (0, 9), 18: (0, 3), 32: (0, 3), 35: (0, 2), 44: (0, 1)}


def metadata(cluster="mine"):
    return meta.MetadataResponse(throttle_time_ms=0, brokers=[], cluster_id=cluster, controller_id=1, topics=[])


class FakeBroker:
    """`answers` maps an API key to what gives the answer: a function of (version, body) -> message, or None to hang up.

    `asked` lists (api key, version) of all questions but ApiVersions.
    """

    def __init__(self, answers, versions=ALL_VERSIONS):
        self.answers = {3: lambda *_: metadata(), **answers}
        self.versions = versions
        self.asked = []

    @contextlib.contextmanager
    def listening(self):
        with listening(self._talk) as endpoint:
            yield endpoint

    def _talk(self, line):
        while head := exactly(line, 4):
            frame = Reader(exactly(line, struct.unpack(">i", head)[0]))
            key, version, correlation = frame.i16(), frame.i16(), frame.i32()
            frame.string()
            body = struct.pack(">i", correlation)
            if key == 18:
                ranges = b"".join(struct.pack(">hhh", k, *v) for k, v in self.versions.items())
                body += struct.pack(">hi", 0, len(self.versions)) + ranges
            else:
                self.asked.append((key, version))
                flexible = (key, version) in {(35, 4), (22, 3), (16, 5), (9, 7), (27, 1)} or key in {
                    55,
                    61,
                    69,
                    75,
                    77,
                    80,
                    81,
                    89,
                    90,
                }
                if flexible:
                    frame.tags()
                message = self.answers[key](version, frame)
                if message is None:
                    line.close()
                    return
                body += (b"\0" if flexible else b"") + bytes(message.encode(version=version))
            line.sendall(struct.pack(">i", len(body)) + body)


def configs(*found, error=0, message=None):
    """A broker that tells these configs, each (key, value, source, sensitive), whatever it is asked for."""
    result = admin.DescribeConfigsResponse.DescribeConfigsResult
    values = [
        result.DescribeConfigsResourceResult(
            name=key, value=text, read_only=False, config_source=source, is_sensitive=secret, synonyms=[]
        )
        for key, text, source, secret in found
    ]
    return FakeBroker(
        {
            32: lambda *_: admin.DescribeConfigsResponse(
                throttle_time_ms=0,
                results=[
                    result(error_code=error, error_message=message, resource_type=2, resource_name="t", configs=values)
                ],
            )
        }
    )
