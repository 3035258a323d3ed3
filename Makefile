# The two commands: `make lab` opens the explorer, `make test` checks everything. All work is done by .ci/dev.py, which
# needs nothing but Python's standard library; this file works with GNU make 3.81.
#
#   make lab        ARGS="--no-browser --port 8890"   options of `isoviz lab`
#   make test       ARGS="-k layout"                  options of pytest
#   make test       BROWSER=0                         without the tests that need Chromium
#   make test-full                                    every count, and every environment
#   make bench      ARGS="planner --repeat 9"         a benchmark of isoviz itself, or one of `isoviz bench`
#   make gpu        WHEELS=folder OUT=folder          what needs a GPU, the first part (.ci/gpu_run.py says more)
#   make gpu        ARGS=rest                         what needs a GPU, the rest
#   make lint       make format                       style, types and floors alone; the formatters
#   make docs                                         the site, in docs/_build/site; needs no network once it is set up
#   make bundle                                       build the browser half again
#   make install    ARGS="mpi gpu-cuda13"             add extras of isoviz to the environment
#   make constraints                                  resolve all dependencies again (needs the network)
#   make constraints ARGS=keep                        the same, with the versions that they have now
#   make clean                                        remove the environments that these commands made

PYTHON ?= python3
ARGS ?=

COMMANDS = lab install test test-full bench gpu lint format docs bundle constraints clean

.PHONY: help $(COMMANDS)

help:
	@sed -n 's/^# \{0,1\}//p' Makefile

$(COMMANDS):
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "isoviz: no $(PYTHON) here; on Debian and Ubuntu: sudo apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) .ci/dev.py $@ $(ARGS)
