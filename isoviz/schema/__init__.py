"""What crosses a border (a file, a command, a snapshot) is declared once, as a type; reading and writing follow from it."""

from isoviz.schema.declaration import As, Member, json_name, left_out, member, members_of
from isoviz.schema.plain_json import plain
from isoviz.schema.reading import MismatchError, alternatives, mismatch, read

__all__ = [
    "As",
    "Member",
    "MismatchError",
    "alternatives",
    "json_name",
    "left_out",
    "member",
    "members_of",
    "mismatch",
    "plain",
    "read",
]
