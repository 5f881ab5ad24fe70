"""What may be wrong with bytes and with plain data, drawn at random."""

from __future__ import annotations

import json
import random
from typing import Any

from fedrepro.benchmark.store.files import canonical, seal_of

TOKENS = [
    b"", b"\x00", b"\xff\xfe", b'"', b"'", b'"""', b"[", b"]" * 3, b"[[", b"{", b"}", b"=", b"\n",
    b"#", b",", b".", b"-", b"nan", b"inf", b"-0", b"1e400", b"9" * 40, b"null", b"true",
    b"1979-05-27", b"../../outside", b"/etc/passwd", b"<script>", b"${HOME}", b"`id`", b"\\u0000",
    b"[" * 500, b"a." * 200, b'{"a":' * 300, b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, 10**30, 0.5, 1e308, "", "x", "../../outside", "\x00",
    "é" * 500, [], [[]], [1, "a"], {}, {"a": {}}, {"file": "../../outside", "sha256": ""}, [None],
    "nan",
]  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """`content` with one to four things wrong."""
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 2, 8, 64, 512])
        after = content[at + length :]
        how = draw.randrange(6)
        if how == 0:
            content = content[:at] + bytes(draw.randrange(256) for _ in range(length)) + after
        elif how == 1:
            content = content[:at] + after
        elif how == 2:
            content = content[:at]
        elif how == 3:
            content = content[:at] + content[at : at + length] * 2 + after
        elif how == 4:
            content = content[:at] + draw.choice(TOKENS) + content[at:]
        else:
            other = draw.randrange(len(content) + 1)
            content = content[:at] + content[other : other + length] + after
    return content


def changed(plain: Any, draw: random.Random) -> Any:
    """Plain data with one value, somewhere, replaced, removed or added."""
    if isinstance(plain, dict) and plain and draw.random() < 0.9:
        key = draw.choice(sorted(plain))
        if draw.random() < 0.1:
            return {name: value for name, value in plain.items() if name != key}
        if draw.random() < 0.1:
            return {**plain, draw.choice(["x", "", key + "x"]): draw.choice(VALUES)}
        return {**plain, key: changed(plain[key], draw)}
    if isinstance(plain, list) and plain and draw.random() < 0.9:
        at = draw.randrange(len(plain))
        return [*plain[:at], changed(plain[at], draw), *plain[at + 1 :]]
    return draw.choice(VALUES)


def forged(content: bytes, draw: random.Random) -> bytes:
    """Sealed JSON with one value changed, under a seal that fits; or damaged, one time in three.

    In the layout of a store, which is read in another way, or not.
    """
    if draw.random() < 1 / 3:
        return damaged(content, draw)
    plain = json.loads(content)
    del plain["sha256"]
    return sealed_again(changed(plain, draw), draw)


def sealed_again(plain: Any, draw: random.Random) -> bytes:
    """Plain data with the seal that fits them, if they can have one."""
    if isinstance(plain, dict):
        plain = {**plain, "sha256": seal_of({k: v for k, v in plain.items() if k != "sha256"})}
    return draw.choice((canonical(plain), json.dumps(plain).encode())) + b"\n"
