"""Records as JSON and back, between poolproof and the process that runs foreign code.

JSON and not pickle: what comes back was made beside code that nobody has read.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import struct
from enum import Enum
from typing import Any

from ..oracle import engine as protocol
from ..oracle import explore, lone, outcome, trace, verdict
from ..proofs import judgement
from ..spec import attention, deployment, design, planning, states
from . import boot, findings, parting

_MODULES = (
    attention,
    deployment,
    design,
    planning,
    states,
    protocol,
    trace,
    lone,
    outcome,
    verdict,
    explore,
    judgement,
    boot,
    findings,
    parting,
)
_RECORDS: dict[str, type] = {
    cls.__name__: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and dataclasses.is_dataclass(cls)
}
_ENUMS: dict[str, type[Enum]] = {
    cls.__name__: cls
    for module in _MODULES
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Enum)
}
_LENGTH = struct.Struct("!Q")


class ClosedError(ConnectionError):
    """Raised when the other side has gone away."""


def encode(value: Any) -> Any:
    """Turn a record into plain JSON values.

    Raises:
        TypeError: It holds something that is neither plain nor a known record.
    """
    if isinstance(value, Enum):
        return {"$enum": type(value).__name__, "value": value.value}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and type(value).__name__ in _RECORDS:
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"$record": type(value).__name__, **fields}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(item) for item in value]
    if hasattr(value, "items"):
        return {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} cannot cross the process boundary")


def decode(value: Any) -> Any:
    """Turn JSON values back into records; lists become tuples."""
    if isinstance(value, list):
        return tuple(decode(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "$enum" in value:
        return _ENUMS[value["$enum"]](value["value"])
    plain = {key: decode(item) for key, item in value.items() if key != "$record"}
    return _RECORDS[value["$record"]](**plain) if "$record" in value else plain


def send(channel: socket.socket, message: Any) -> None:
    """Send one message, length first."""
    body = json.dumps(encode(message)).encode()
    channel.sendall(_LENGTH.pack(len(body)) + body)


def receive(channel: socket.socket) -> Any:
    """Receive one message.

    Raises:
        ClosedError: The other side has gone away.
        TimeoutError: Nothing came within the channel's timeout.
    """
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size))
    return decode(json.loads(_exactly(channel, length)))


def _exactly(channel: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = channel.recv(min(size - len(received), 1 << 20))
        if not chunk:
            raise ClosedError("the other process has gone away")
        received += chunk
    return bytes(received)
