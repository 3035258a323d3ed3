"""What crosses a border (a file, a command, a snapshot) is declared once, as a type; reading and writing follow from it."""

from isoviz.schema.declaration import BY_NAME, As, Member, json_name, left_out, member, members_of
from isoviz.schema.plain_json import plain
from isoviz.schema.reading import MismatchError, alternatives, errors_as, mismatch, read, tag

__all__ = [
    "BY_NAME",
    "As",
    "Member",
    "MismatchError",
    "alternatives",
    "errors_as",
    "json_name",
    "left_out",
    "member",
    "members_of",
    "mismatch",
    "plain",
    "read",
    "tag",
]
