# One verb for each habit. Every verb first sees to `.venv`, which is made once.
PYTHON ?= python3
TORCH_INDEX ?=
SECONDS ?= 300
SEED ?= 1
BIN := .venv/bin
CXX_SOURCES = $(shell find book grader puzzles solutions tests -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.hpp')

.PHONY: help setup demo book pages test thorough sanitized fuzz lint format bench gpu clean

help:           ## what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

setup:          ## make .venv (TORCH_INDEX=url chooses PyTorch's build, PYTHON=python3.12 the Python)
	@$(PYTHON) bootstrap.py $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))

demo: setup     ## grade puzzle 1 twice: the untouched skeletons, then the solutions
	@$(BIN)/python tests/demo.py

book: setup     ## the book as a site, which needs no server, and as an EPUB: build/book
	@$(BIN)/grader book build

pages: setup    ## the whole book built, and each page of it opened in Chromium: a minute
	@$(BIN)/python -m pytest -m whole_book tests/test_book_whole.py

test: setup     ## all tests but those of `pages` and `sanitized`, on all cores (up to 8)
	@$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal -m "not sanitizers and not whole_book"

thorough: setup ## those too, and all of which an ordinary run tries a sample, which takes many minutes more
	@GRADER_THOROUGH=1 $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

sanitized: setup ## a short run of the next under sanitizers: two minutes, most of them building
	@$(BIN)/python -m pytest -m sanitizers tests/test_fuzz.py

fuzz: setup     ## damaged PTX, damaged programs and wild launches, under sanitizers (SECONDS=300, SEED=1)
	@$(BIN)/python -m tests.fuzz.run --seconds $(SECONDS) --seed $(SEED)

lint: setup     ## ruff, mypy, clang-format
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)

format: setup   ## put every file into shape
	@$(BIN)/ruff check --quiet --fix --exit-zero .
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CXX_SOURCES)

bench: setup    ## how long a learner waits, and how fast the software GPU is
	@$(BIN)/python tests/bench/startup.py
	@$(BIN)/python -m tests.bench.speed

gpu: setup      ## puzzle 1 on this machine's GPU, beside PyTorch: needs cuda-bindings in .venv, writes first_light/
	@$(BIN)/python -m tests.gpu.first_light --out first_light

clean:          ## remove .venv and what tools left in this folder
	@rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
