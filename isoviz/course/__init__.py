"""The course: exercises on layouts, plans and pipelines, checked where they are answered.

    from isoviz import course

    course.start()              # keeps the progress beside the notebook
    course.statement("1.1")     # what is given, asked, and in which unit
    course.check("1.1", 17)

An answer is a number (or its text with a unit), a text, a value of isoviz, a function, or a pane. An answer that cannot be read
is not counted, nor is the same answer given again. Everything works without a network.

`isoviz course new`, `report` and `export` are for a class: see the page for teachers.
"""

from isoviz.course.lessons import answered, check, given, pane, points, progress, start, statement, terms

__all__ = ["answered", "check", "given", "pane", "points", "progress", "start", "statement", "terms"]
