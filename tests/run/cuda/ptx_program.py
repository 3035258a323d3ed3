"""Decodes the PTX of NVRTC into tables of instructions. What it does not know is an error."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import numpy as np
from ptx_operations import OPERATIONS, SHARED_AT, WIDTH

COLUMNS = 12
"""Of an instruction: operation, guard, its sense, d0…d3, a, b, c, immediate (offset or target), line. An operand of at least 0 is
a register, another one the constant with number −1 − operand."""
PARAMETERS = 1 << 20
"""Constants with this number and above are parameters of the kernel."""
SPECIAL = [f"%{name}.{axis}" for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"]


class UnknownInstructionError(Exception):
    """The executor does not know an instruction, or one of its forms."""


class Program(NamedTuple):
    """One kernel, decoded."""

    code: np.ndarray
    constants: list[int]
    registers: int
    shared: int
    parameters: list[str]


def programs(ptx: str) -> dict[str, Program]:
    """All kernels of a PTX module by name."""
    ptx = ptx.rstrip("\0")
    found = {}
    starts = [m.start() for m in re.finditer(r"^\.visible \.entry ", ptx, re.M)]
    for start, end in itertools.pairwise([*starts, len(ptx)]):
        name = re.match(r"\.visible \.entry (\w+)\(", ptx[start:end])[1]  # type: ignore[index]
        found[name] = _Decoder(ptx[start:end], ptx.count("\n", 0, start) + 1).program()
    return found


class _Decoder:
    def __init__(self, text: str, line: int) -> None:
        self.text, self.line = text, line
        self.registers = {name: k for k, name in enumerate(SPECIAL)}
        self.constants: dict[int, int] = {}
        self.parameters = re.findall(r"\.param \.[ub]64(?: \.ptr[^,\n)]*?)? (\w+_param_\d+)", text.split("{", 1)[0])
        self.shared: dict[str, int] = {}
        self.size = 0
        self.labels: dict[str, int] = {}
        self.rows: list[list[int | str]] = []

    def program(self) -> Program:
        head, body = self.text.split("{", 1)
        if len(self.parameters) != head.count(".param"):
            raise UnknownInstructionError(head)
        line = self.line + head.count("\n")
        for text in body.split("\n"):
            self._statement(re.sub(r"//.*", "", text).strip(), line)
            line += 1
        code = [[self.labels[x] if isinstance(x, str) else x for x in row] for row in self.rows]
        values = [value & 0xFFFFFFFFFFFFFFFF for value in self.constants]
        return Program(np.array(code, np.int64), values, len(self.registers), self.size, self.parameters)

    def _statement(self, text: str, line: int) -> None:
        if not text or text == "}":
            return
        if text.endswith(":"):
            self.labels[text[:-1]] = len(self.rows)
            return
        if m := re.fullmatch(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];", text):
            align = int(m[1])
            self.size = -(-self.size // align) * align
            self.shared[m[2]] = SHARED_AT + self.size
            self.size += int(m[3])
            return
        if re.fullmatch(r"\.reg \.\w+\s+%\w+<\d+>;|\.pragma .*;", text):
            return
        m = re.fullmatch(r"(?:@(!?)(%\w+)\s+)?([a-z][\w.]*)\s*(.*);", text)
        if m is None:
            raise UnknownInstructionError(f"line {line}: {text}")
        guard, sense = (self._register(m[2]), int(not m[1])) if m[2] else (-1, 0)
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", m[4])
        self.rows.append([0, guard, sense, 0, 0, 0, 0, 0, 0, 0, 0, line])
        try:
            self._decode(m[3], operands, self.rows[-1])
        except (KeyError, ValueError, IndexError) as error:
            raise UnknownInstructionError(f"line {line}: {text} ({error!r})") from None

    def _decode(self, name: str, operands: list[str], row: list[int | str]) -> None:
        parts = name.split(".")
        if parts[:2] == ["ld", "param"] and len(parts) == 3:
            row[0], row[3] = OPERATIONS[f"mov.b{WIDTH[parts[2]]}"][0], self._register(operands[0])
            row[7] = -1 - PARAMETERS - self.parameters.index(operands[1][1:-1])
        elif parts[0] in ("ld", "st"):
            self._access(parts, operands, row)
        elif parts[0] == "mov" and "{" in "".join(operands):
            self._pack(parts, operands, row)
        elif name in ("bra", "bra.uni"):
            row[0], row[10] = OPERATIONS["bra"][0], operands[0]
        elif name in ("bar.sync", "barrier.sync"):
            if operands != ["0"]:
                raise KeyError(name)
            row[0] = OPERATIONS["bar.sync"][0]
        else:
            row[0] = OPERATIONS[name][0]
            for k, each in enumerate(operands):
                row[(3, 7, 8, 9, 4)[k]] = self._operand(each) if k else self._register(each)

    def _access(self, parts: list[str], operands: list[str], row: list[int | str]) -> None:
        kinds = [part for part in parts[1:] if part not in ("nc", "weak")]
        count = int(kinds[1][1:]) if kinds[1] in ("v2", "v4") else 1
        if len(kinds) != 2 + (count > 1):
            raise KeyError(".".join(parts))
        row[0] = OPERATIONS[f"{parts[0]}.{kinds[0]}.{count}.{WIDTH[kinds[-1]]}"][0]
        values, address = operands if parts[0] == "ld" else operands[::-1]
        names = [each.strip() for each in values.strip("{}").split(",")]
        if len(names) != count:
            raise KeyError(values)
        for k, each in enumerate(names):
            row[3 + k] = self._register(each) if parts[0] == "ld" else self._operand(each)
        base, _, offset = address[1:-1].partition("+")
        row[7], row[10] = self._operand(base), int(offset or 0)

    def _pack(self, parts: list[str], operands: list[str], row: list[int | str]) -> None:
        packs = operands[1][0] == "{"
        several = [each.strip() for each in operands[packs].strip("{}").split(",")]
        row[0] = OPERATIONS[f"{'pack' if packs else 'unpack'}.{len(several)}.{WIDTH[parts[1]] // len(several)}"][0]
        for k, each in enumerate(several):
            row[3 + k] = self._operand(each) if packs else self._register(each)
        row[7] = self._register(operands[0]) if packs else self._operand(operands[1])

    def _register(self, name: str) -> int:
        if not re.fullmatch(r"%(p|rs|r|rd)\d+|_", name) and name not in SPECIAL:
            raise KeyError(name)
        return self.registers.setdefault(name, len(self.registers))

    def _operand(self, text: str) -> int:
        if text[0] == "%":
            return self._register(text)
        value = self.shared[text] if text in self.shared else int(text.rstrip("U"), 0)
        return ~self.constants.setdefault(value, len(self.constants))
