"""The floor for a diagnosis: the metadata of every broker and every state znode, on bare sockets, decoded and compared.

python benchmarks/floor.py BROKER:PORT,... ZOOKEEPER:PORT [LINES] [also]

Uses nothing of kfix. LINES (2 by default) are the sessions with ZooKeeper, over which the reads are pipelined. `also`
imports typer at first, which every command line of kfix has to. Prints how many partitions differ.
"""

import json
import re
import selectors
import socket
import struct
import sys
from collections.abc import Callable

Name = tuple[bytes, int]
_STATE = re.compile(rb'"leader"\s*:\s*(-?\d+).*?"leader_epoch"\s*:\s*(\d+)', re.DOTALL)


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    line = socket.create_connection((host, int(port)), timeout=20)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def exactly(line: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = line.recv(min(size, 1 << 20))
        if not part:
            raise SystemExit("closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def ask_metadata(line: socket.socket) -> None:
    body = struct.pack(">hhih", 3, 7, 1, 5) + b"floor" + struct.pack(">i?", -1, False)
    line.sendall(struct.pack(">i", len(body)) + body)


def metadata(line: socket.socket) -> dict[Name, tuple[int, int]]:
    data = exactly(line, struct.unpack(">i", exactly(line, 4))[0])
    i32, head, text = (
        struct.Struct(">i").unpack_from,
        struct.Struct(">hiiii").unpack_from,
        struct.Struct(">h").unpack_from,
    )
    at = 8
    count, at = i32(data, at)[0], at + 4
    for _ in range(count):
        at += 4
        at += 2 + text(data, at)[0]
        at += 4
        rack = text(data, at)[0]
        at += 2 + max(rack, 0)
    at += 2 + text(data, at)[0]
    at += 4
    topics, at = i32(data, at)[0], at + 4
    found: dict[Name, tuple[int, int]] = {}
    for _ in range(topics):
        at += 2
        size = text(data, at)[0]
        name = data[at + 2 : at + 2 + size]
        at += 2 + size + 1
        rows, at = i32(data, at)[0], at + 4
        for _ in range(rows):
            _, index, leader, epoch, n = head(data, at)
            at += 18 + 4 * n
            at += 4 + 4 * i32(data, at)[0]
            at += 4 + 4 * i32(data, at)[0]
            found[name, index] = leader, epoch
    return found


def session(address: str) -> socket.socket:
    line = connect(address)
    body = struct.pack(">iqiqi16s", 0, 0, 30000, 0, 16, bytes(16))
    line.sendall(struct.pack(">i", len(body)) + body)
    exactly(line, struct.unpack(">i", exactly(line, 4))[0])
    return line


def request(xid: int, kind: int, path: bytes) -> bytes:
    body = struct.pack(">iii", xid, kind, len(path)) + path + b"\0"
    return struct.pack(">i", len(body)) + body


def read(lines: list[socket.socket], paths: list[bytes], take: Callable[[int, bytes], None], window: int = 256) -> None:
    """Reads the data of all paths, pipelined over the lines; `take(position, data)`."""
    ready, start, left = selectors.DefaultSelector(), 0, len(paths)
    state: dict[socket.socket, tuple[list[bytes], list[int]]] = {}
    for line in lines:
        ready.register(line, selectors.EVENT_READ)
        state[line] = [b""], []
    while left:
        for line in lines:
            waiting = state[line][1]
            if start < len(paths) and len(waiting) <= window // 2:
                stop = min(len(paths), start + window - len(waiting))
                line.sendall(b"".join(request(n, 4, paths[n]) for n in range(start, stop)))
                waiting.extend(range(start, stop))
                start = stop
        for key, _ in ready.select(20):
            line = next(each for each in lines if each is key.fileobj)
            rest, waiting = state[line]
            buffer = rest[0] + line.recv(1 << 18)
            at = answered = 0
            while len(buffer) - at >= 20:
                size, xid, _, error = struct.unpack_from(">iiqi", buffer, at)
                if len(buffer) - at < 4 + size:
                    break
                if error == 0:
                    length = struct.unpack_from(">i", buffer, at + 20)[0]
                    take(xid, buffer[at + 24 : at + 24 + length])
                at += 4 + size
                answered += 1
            left -= answered
            del waiting[:answered]
            rest[0] = buffer[at:]
    ready.close()


def main() -> None:
    brokers, zookeeper = sys.argv[1].split(","), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    if "also" in sys.argv[4:]:
        import typer  # noqa: F401, PLC0415
    asked = [connect(address) for address in brokers]
    for line in asked:
        ask_metadata(line)
    lines = [session(zookeeper) for _ in range(count)]
    lines[0].sendall(request(-9, 8, b"/brokers/topics"))
    data = exactly(lines[0], struct.unpack(">i", exactly(lines[0], 4))[0])
    topics: list[bytes] = []
    at = 20
    for _ in range(struct.unpack_from(">i", data, 16)[0]):
        size = struct.unpack_from(">i", data, at)[0]
        topics.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    names: list[Name] = []

    def assigned(position: int, found: bytes) -> None:
        names.extend((topics[position], int(p)) for p in json.loads(found)["partitions"])

    read(lines, [b"/brokers/topics/" + topic for topic in topics], assigned)
    states: dict[Name, tuple[int, int]] = {}

    def stated(position: int, found: bytes) -> None:
        if record := _STATE.search(found):
            states[names[position]] = int(record[1]), int(record[2])

    read(lines, [b"/brokers/topics/%s/partitions/%d/state" % name for name in names], stated)
    views = [metadata(line) for line in asked]
    different = sum(1 for name, record in states.items() if any(view.get(name) != record for view in views))
    print(len(states), "partitions,", different, "differ")


if __name__ == "__main__":
    main()
