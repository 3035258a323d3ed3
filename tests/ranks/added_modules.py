"""On import: modules of a folder of the test count as modules of isoviz. The last argument of the program is the folder.

A folder `isoviz/machines/channel_kinds` in it is listed after that of isoviz, and so is each other one. The rest of isoviz stays
where it is, with its compiled kernels.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ADDED = Path(sys.argv[-1])
_HOME = Path(importlib.util.find_spec("isoviz").submodule_search_locations[0])  # type: ignore[union-attr,index]

for _folder in sorted({path.parent.relative_to(ADDED / "isoviz") for path in (ADDED / "isoviz").rglob("*.py")}):
    _name = ".".join(("isoviz", *_folder.parts))
    _places = [str(_HOME / _folder), str(ADDED / "isoviz" / _folder)]
    _spec = importlib.util.spec_from_file_location(_name, _HOME / _folder / "__init__.py", submodule_search_locations=_places)
    assert _spec is not None
    sys.modules[_name] = importlib.util.module_from_spec(_spec)  # before anything of isoviz is imported
