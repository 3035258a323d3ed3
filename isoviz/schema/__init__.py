"""Schemas of files, commands and snapshots: each is declared once, as a type, and reading and writing follow from it."""

from isoviz.schema.cursor import Node, read_document
from isoviz.schema.declaration import BY_NAME, As, Call, Member, Named, call_type, json_name, left_out, member, members_of, named
from isoviz.schema.json_text import format_json, parse
from isoviz.schema.plain_json import plain
from isoviz.schema.reading import MismatchError, alternatives, errors_as, mismatch, read, tag

__all__ = [
    "BY_NAME",
    "As",
    "Call",
    "Member",
    "MismatchError",
    "Named",
    "Node",
    "alternatives",
    "call_type",
    "errors_as",
    "format_json",
    "json_name",
    "left_out",
    "member",
    "members_of",
    "mismatch",
    "named",
    "parse",
    "plain",
    "read",
    "read_document",
    "tag",
]
