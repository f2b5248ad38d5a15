# Koine. `make demo` and `make test` install what they need on Debian and do the rest; `make help` lists the targets.

LUA        ?= lua5.4
LUA_PC     ?= lua5.4
CC         ?= cc
PKG_CONFIG ?= pkg-config
BUILD      ?= build

# The sources of the module; tools/generate.lua writes the same lists into the rockspec.
CORE_SRC := $(shell find src/core -name '*.c' | LC_ALL=C sort)
BINDING_SRC := $(shell find src/binding -name '*.c' | LC_ALL=C sort)

WARN     = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
OPT      ?= -O2 -g
SAN      ?=
KOINE_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC $(WARN) $(OPT) $(SAN) $(CFLAGS)
# Lazily, because `make demo` may install pkg-config first.
LUA_INC  ?= $(shell $(PKG_CONFIG) --cflags $(LUA_PC))
LUA_LIB  ?= $(shell $(PKG_CONFIG) --libs $(LUA_PC))
CURL_LIB = $(shell $(PKG_CONFIG) --libs libcurl)

CORE_OBJ = $(CORE_SRC:src/%.c=$(BUILD)/obj/%.o)
BINDING_OBJ = $(BINDING_SRC:src/%.c=$(BUILD)/obj/%.o)
CORE_LIB = $(BUILD)/libkoinecore.a
MODULE   = $(BUILD)/koine/core.so

# The interpreter that loads the module has Lua's functions. ld looks for them then, macOS' linker when told to.
UNAME ?= $(shell uname -s)
SHARED = -shared
ifeq ($(UNAME),Darwin)
SHARED += -undefined dynamic_lookup
endif

# One short line a file; `make V=1` shows the commands.
ifndef V
QUIET = @echo '  $(notdir $@)';
endif

# Lua finds the checkout's files before anything installed.
export LUA_PATH  = ./lua/?.lua;./lua/?/init.lua;;
export LUA_CPATH = $(BUILD)/?.so;;
export KOINE_LUA = $(LUA)
BUSTED = $(LUA) $$(command -v busted)

all: $(MODULE)

help:
	@echo 'make demo       dependencies, build, then a tool loop against the loopback provider (or a real one: see README)'
	@echo 'make test       dependencies, build, then every test: C, host programs, specs, contract suite; TEST_JOBS at once'
	@echo 'make            build $(MODULE)'
	@echo 'make examples   the C program of examples/embed'
	@echo 'make lint       luacheck, the C code under extra warnings as errors, spelling, and what make generate writes'
	@echo 'make spelling   pages, comments and messages by codespell'
	@echo 'make generate   write what repeats other files: lists, tables on pages, the rockspec, pictures; lint compares'
	@echo 'make arch       the arrows between rooms; no circle of files; what files may do'
	@echo 'make docs-check every public function is explained in its source; pages and code agree'
	@echo 'make docs       the pages of docs/ and the reference of every public name as HTML in $(BUILD)/docs, by LDoc'
	@echo 'make types      types/ and the examples by lua-language-server, as an editor sees them; LUALS names it'
	@echo 'make asan       everything again under ASan and UBSan'
	@echo 'make valgrind   the C tests and a part of the specs under valgrind'
	@echo 'make memory     the tests that let one allocation after the other fail: all of them; make test takes every 19th'
	@echo 'make tsan       several engines, and several Lua states, on several threads, under TSan'
	@echo 'make analyse    gcc -fanalyzer, cppcheck and clang-tidy: no findings'
	@echo 'make json-schema-suite  the validator against the public JSON Schema Test Suite, from Debian'
	@echo 'make callgrind  instructions per delta, chat and so on, ours and in all, beside C programs, against bench/callgrind.txt'
	@echo 'make linear     instruction counts at n and 2n: parsers are linear'
	@echo 'make fuzz       each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make chaos      schedules of CHAOS_SEEDS (200) seeds: faults of providers and the network, killed MCP servers; also under ASan'
	@echo 'make engines    the engines of stores on real servers: ENGINE_SEEDS (200) random runs, servers that are killed'
	@echo 'make bench      figures as `name value unit` lines, and pictures of them in docs/img/bench'
	@echo 'make bench-peers  the same of SDKs of others, from npm, in one run with Koine and C; needs Node'
	@echo 'make plots      the pictures again, of the data beside them'
	@echo 'make interop    the contract suite and the examples against aimock, nginx and nghttpx; clients of others (docs/interop.md)'
	@echo 'make browser    the page of koine trace, and those of make docs, in Chromium, from Debian; KOINE_SHOTS: a folder for pictures'
	@echo 'make portable   every C file as strict C11 by gcc, clang, gcc for 32 bits and musl-gcc, from Debian; nothing is built'
	@echo 'make foreign    the tests of the core on s390x and arm64 under qemu, on i686, and with musl; the module on the first two'
	@echo 'make hosts      Koine inside lighttpd, Prosody, Dovecot, dnsmasq, NeoMutt and clingo, from Debian'
	@echo 'make interop-full  koine.acp against Claude Code, Codex and Gemini CLI from npm, 1.4 GB, without their providers'
	@echo 'make curl-matrix  the targets CURL_TESTS (test-host test-lua) with the system'"'"'s libcurl and the one of backports'
	@echo 'make lua-matrix  the module and the specs with other Luas: LUA_TREES names source trees, LUA_MODULES a folder of C modules'
	@echo 'make rock-test  install with LuaRocks into an empty tree; a stream, an executor, a session and the demo from there'
	@echo 'make lib        $(BUILD)/libkoine.a, for C programs: the core, the binding and the Lua modules'
	@echo 'make install    module, Lua files, types for editors, bin/koine, libkoine.a, koine.h, koine.pc under DESTDIR and PREFIX'
	@echo 'make uninstall  takes them away again'
	@echo 'make dist       koine-VERSION.tar.gz and its rockspec, from the tagged commit; needs SOURCE_URL, HOMEPAGE, ISSUES_URL'
	@echo 'make release VERSION=x.y.z  version, changelog, commit, tag, and what dist makes, with its variables; or nothing at all'
	@echo 'make pack-test  install, LuaRocks and libkoine.a, each from an empty folder'

$(BUILD)/obj/core/%.o: src/core/%.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) -Isrc -MMD -MP -c -o $@ $<

$(BUILD)/obj/binding/%.o: src/binding/%.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) -Isrc $(LUA_INC) -MMD -MP -c -o $@ $<

# q, not r: files of different rooms share base names, and r would keep one of each.
$(CORE_LIB): $(CORE_OBJ)
	@rm -f $@
	$(QUIET)ar qcs $@ $^

$(MODULE): $(CORE_OBJ) $(BINDING_OBJ)
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(SHARED) $(OPT) $(SAN) $(LDFLAGS) -o $@ $^ $(CURL_LIB) -ldl -lm -lpthread

# {{{ embedding and installing

VERSION := $(shell sed -n 's/^return "\(.*\)"/\1/p' lua/koine/data/version.lua)
LUA_SRC := $(shell find lua/koine -name '*.lua' | LC_ALL=C sort)
# For editors; nothing loads them.
TYPES   := $(shell find types -name '*.lua' | LC_ALL=C sort)
LIB      = $(BUILD)/libkoine.a

# A C program needs neither the command line nor the loopback provider.
EMBED_SRC = $(filter-out lua/koine/cli/% lua/koine/testing/%,$(LUA_SRC))

$(BUILD)/modules.c: $(EMBED_SRC) tools/embed.lua
	@mkdir -p $(@D)
	$(QUIET)$(LUA) tools/embed.lua $(EMBED_SRC) >$@

$(BUILD)/obj/embed/%.o: src/embed/%.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) $(LUA_INC) -MMD -MP -c -o $@ $<

$(BUILD)/obj/embed/modules.o: $(BUILD)/modules.c src/embed/modules.h
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) -Isrc/embed -c -o $@ $<

# One object whose other names are its own: nothing in a host's program can clash with them.
$(LIB): $(CORE_OBJ) $(BINDING_OBJ) $(BUILD)/obj/embed/preload.o $(BUILD)/obj/embed/modules.o
	@rm -f $@
	$(QUIET)$(CC) -r -nostdlib -o $(BUILD)/koine.o $^
	@if command -v objcopy >/dev/null; then objcopy --localize-hidden $(BUILD)/koine.o; fi
	@ar rcs $@ $(BUILD)/koine.o

lib: $(LIB)

PREFIX ?= /usr/local
bindir  = $(DESTDIR)$(PREFIX)/bin
incdir  = $(DESTDIR)$(PREFIX)/include
libdir  = $(DESTDIR)$(PREFIX)/lib
sharedir = $(DESTDIR)$(PREFIX)/share/koine
luadir  = $(DESTDIR)$(PREFIX)/share/lua/5.4
moddir  = $(libdir)/lua/5.4

# What an older version put there would be found before what is new. Where Lua does not look by itself, the last lines
# say what a shell needs.
install: $(MODULE) $(LIB)
	@rm -rf $(luadir)/koine $(moddir)/koine $(sharedir)
	@install -d $(bindir) $(incdir) $(libdir)/pkgconfig $(moddir)/koine
	@install -m 755 bin/koine $(bindir)/koine
	@install -m 644 src/embed/koine.h $(incdir)/koine.h
	@install -m 644 $(LIB) $(libdir)/libkoine.a
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: koine' 'Description: One Lua API for every LLM provider, for Lua 5.4' \
	  'Version: $(VERSION)' 'Requires: $(LUA_PC) libcurl >= 7.84' 'Cflags: -I$${prefix}/include' \
	  'Libs: -L$${prefix}/lib -lkoine -ldl -lm -lpthread' >$(libdir)/pkgconfig/koine.pc
	@install -m 755 $(MODULE) $(moddir)/koine/core.so
	@set -e; for f in $(LUA_SRC); do install -D -m 644 $$f $(luadir)/$${f#lua/}; done
	@set -e; for f in $(TYPES); do install -D -m 644 $$f $(sharedir)/$$f; done
	@LUA='$(LUA)' tools/installed_where.sh '$(abspath $(PREFIX))'

uninstall:
	rm -rf $(luadir)/koine $(moddir)/koine $(sharedir)
	rm -f $(bindir)/koine $(incdir)/koine.h $(libdir)/libkoine.a $(libdir)/pkgconfig/koine.pc

# What only the project's owner knows: where a release will be, and the project's pages.
SOURCE_URL ?=
HOMEPAGE   ?=
ISSUES_URL ?=
RELEASE_ENV = LUA='$(LUA)' SOURCE_URL='$(SOURCE_URL)' HOMEPAGE='$(HOMEPAGE)' ISSUES_URL='$(ISSUES_URL)'
dist:
	@$(RELEASE_ENV) tools/dist.sh

# Sets version and changelog, commits, tags, and makes what dist makes; or changes nothing.
release:
	@$(RELEASE_ENV) tools/release.sh '$(if $(filter command,$(firstword $(origin VERSION))),$(VERSION))'

pack-test:
	@tools/deps.sh build lint
	@tools/pack-test.sh $(BUILD)

# }}}

# {{{ tests

SPEC_C    = $(patsubst spec/c/%.c,$(BUILD)/spec/c/%,$(shell find spec/c -name '*.c' | LC_ALL=C sort))
SPEC_HOST = $(patsubst spec/host/%.c,$(BUILD)/spec/host/%,$(shell find spec/host -name '*.c' | LC_ALL=C sort))

# Code of the test programs' own: to optimise it takes longer than they run. What they test is optimised.
SPEC_OPT ?= $(if $(SAN),,-O0)

# The core alone: no Lua, no network.
$(BUILD)/spec/c/%: spec/c/%.c $(CORE_LIB)
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) $(SPEC_OPT) -Isrc -Ispec/c -MMD -MP -o $@ $< $(CORE_LIB) $(CURL_LIB) -lm -lpthread

# Programs that host the library.
$(BUILD)/spec/host/%: spec/host/%.c $(CORE_LIB) $(BINDING_OBJ)
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) -Isrc -Ispec/c -Ispec/host $(LUA_INC) -MMD -MP -o $@ $< $(BINDING_OBJ) $(CORE_LIB) $(LUA_LIB) $(CURL_LIB) $(MORE_LIB) -ldl -lm -lpthread

# Their servers are OpenSSL's own.
$(BUILD)/spec/host/http/%_hostile: MORE_LIB = -lssl -lcrypto

# Programs and spec files in processes of their own, TEST_JOBS at once.
RUN_TESTS = $(LUA) tools/run-tests.lua

test-c: $(SPEC_C)
	@$(RUN_TESTS) $(SPEC_C)

test-host: $(MODULE) $(SPEC_HOST)
	@$(RUN_TESTS) $(SPEC_HOST)

# SPECS: files or folders, all of them unless told.
SPECS ?= spec
test-lua: $(MODULE)
	@$(RUN_TESTS) $(SPECS)

test-all: $(MODULE) $(SPEC_HOST) $(SPEC_C)
	@$(RUN_TESTS) $(SPEC_HOST) $(SPEC_C) spec

# A C program with a loop of its own; its Lua finds the module through LUA_CPATH. Specs that run at once may each build it.
$(BUILD)/examples/%: examples/embed/%.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) $(LUA_INC) -o $@.$$$$ $< $(LUA_LIB) -lm && mv $@.$$$$ $@

examples: $(MODULE) $(BUILD)/examples/embed

deps-build:
	@tools/deps.sh build
deps-test:
	@tools/deps.sh build test

# Separate makes, so that what was just installed is seen; this one compiles on every core.
test: deps-test
	@$(MAKE) --no-print-directory -j$$(getconf _NPROCESSORS_ONLN) test-all

demo: deps-build
	@$(MAKE) --no-print-directory all
	@$(LUA) examples/demo.lua

# }}}

# {{{ quality

arch: $(LIB)
	@$(LUA) tools/arch.lua
	@$(LUA) tools/circles.lua
	@$(LUA) tools/guards.lua
	@test "$$(nm -g --defined-only $(LIB) | awk 'NF == 3 { print $$3 }' | sort | xargs)" = "koine_preload luaopen_koine_core" || \
	  { echo 'libkoine.a exports more than koine_preload and luaopen_koine_core'; exit 1; }

docs-check: $(MODULE)
	@$(LUA) tools/docs-check.lua
	@$(RUN_TESTS) spec/lua/whole/docs/docs_spec.lua spec/lua/whole/docs/types

# Not in .ci/run: Debian has no lua-language-server; LUALS names one.
types:
	@tools/types.sh $(BUILD)

# The guide and the reference, by LDoc; every link in them is followed.
docs:
	@tools/deps.sh docs
	@$(LUA) tools/reference/build.lua $(BUILD)

# After a row or a source file came or went: what repeats their names.
generate: $(MODULE)
	@$(LUA) tools/generate.lua
	@set -e; for p in tools/picture*.lua; do $(LUA) $$p; done

lint: $(MODULE)
	luacheck --quiet --std lua54 --max-line-length 120 lua bin/koine examples tools bench
	luacheck --quiet --std lua54+busted --max-line-length 120 spec
	@$(LUA) tools/loops.lua
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/lint OPT='-O1 -Werror' SAN= all
	@test "$$(nm -D --defined-only $(BUILD)/lint/koine/core.so | awk '{ print $$NF }')" = luaopen_koine_core || \
	  { echo 'core.so exports more than luaopen_koine_core: a header lacks the pragma GCC visibility'; exit 1; }
	@$(LUA) tools/generate.lua --check
	@set -e; for p in tools/picture*.lua; do $(LUA) $$p --check; done
	@$(MAKE) --no-print-directory spelling

# Words that are right here: upto of a Redis script, alse of a pattern, what a spec of the contract has a model write.
# Specs misspell names on purpose.
SPELT = README.md CHANGELOG.md llms.txt Makefile .ci docs lua src types tools examples bench bin rockspec
spelling:
	@codespell --quiet-level=2 --ignore-words-list=upto,alse,ture,modell,nd $(SPELT)

SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
asan: asan-c asan-lua

asan-c:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan OPT='-O1 -g' SAN='$(SANITIZE)' test-c test-host

# The program curl waits for ever under libasan: it asks for a locale, which a library that libcurl needs then holds.
asan-lua:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan OPT='-O1 -g' SAN='$(SANITIZE)' all
	@mkdir -p $(BUILD)/asan/bin
	@printf '#!/bin/sh\nunset LD_PRELOAD\nexec %s "$$@"\n' "$$(command -v curl)" >$(BUILD)/asan/bin/curl
	@chmod +x $(BUILD)/asan/bin/curl
	@PATH="$(CURDIR)/$(BUILD)/asan/bin:$$PATH" \
	  LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 \
	  $(MAKE) --no-print-directory BUILD=$(BUILD)/asan OPT='-O1 -g' SAN='$(SANITIZE)' test-lua

VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect
valgrind: $(SPEC_C) $(MODULE) $(BUILD)/spec/host/threads
	@set -e; for t in $(SPEC_C); do KOINE_EVERY=97 $(VALGRIND) $$t; done
	$(VALGRIND) $(BUILD)/spec/host/threads
	KOINE_EVERY=97 $(VALGRIND) $(BUSTED) spec/lua/call/stream/stream_spec.lua

TSAN = http/http http/flow http/figures http/ends http/pause threads
memory: $(MODULE) $(BUILD)/spec/host/memory $(BUILD)/spec/host/memory_work
	KOINE_EVERY=1 $(BUILD)/spec/host/memory
	KOINE_EVERY=1 $(BUILD)/spec/host/memory_work

tsan:
	@$(MAKE) --no-print-directory CC=clang BUILD=$(BUILD)/tsan OPT='-O1 -g' SAN=-fsanitize=thread \
	  $(TSAN:%=$(BUILD)/tsan/spec/host/%)
	@set -e; for t in $(TSAN); do $(BUILD)/tsan/spec/host/$$t; done

analyse:
	@tools/deps.sh build analyse
	@tools/analyse.sh

# The module as it is with a libcurl whose handles may be used again, for counting what that saves with an older one.
REUSED = $(BUILD)/reused/koine/core.so
$(BUILD)/reused/library.o: src/core/http/library.c
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(KOINE_CFLAGS) -DHANDLES_SINCE=1 -Isrc -MMD -MP -c -o $@ $<
$(REUSED): $(BUILD)/reused/library.o $(CORE_OBJ) $(BINDING_OBJ)
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(SHARED) $(OPT) $(SAN) $(LDFLAGS) -o $@ $(filter-out %/core/http/library.o,$^) $(CURL_LIB) -ldl -lm -lpthread

callgrind: $(MODULE) $(REUSED)
	@bench/callgrind.sh $(BUILD)

# Of the shorter input; the longer one has twice as many.
LINEAR_BYTES ?= 1048576
linear: $(BUILD)/spec/c/linear
	@tools/linear.sh $(BUILD)/spec/c/linear $(LINEAR_BYTES)

FUZZ_SECONDS ?= 60
fuzz:
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

CHAOS_SEEDS ?= 200
chaos: $(MODULE)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan OPT='-O1 -g' SAN='$(SANITIZE)' all
	@tools/chaos.sh $(BUILD) $(CHAOS_SEEDS)

ENGINE_SEEDS ?= 200
engines: $(MODULE)
	@tools/deps.sh build test engines
	@KOINE_ENGINE_SEEDS=$(ENGINE_SEEDS) $(MAKE) --no-print-directory test-lua SPECS="spec/lua/store \
	  spec/lua/dispatch/shared/processes_spec.lua spec/lua/agent/saved/keeper_kill_spec.lua"

bench: $(MODULE) $(REUSED)
	@bench/run.sh $(BUILD)
	@$(LUA) bench/plots/data.lua $(BUILD)
	@$(MAKE) --no-print-directory plots

bench-peers: $(MODULE)
	@bench/peers.sh $(BUILD)
	@$(LUA) bench/plots/data.lua $(BUILD)
	@$(MAKE) --no-print-directory plots

# The pictures of docs/img/bench, drawn of the data beside them.
plots:
	@tools/deps.sh plots
	@bench/plots/draw.sh

LUA_TREES ?=
lua-matrix:
	@tools/lua-matrix.sh $(BUILD) $(LUA_TREES)

rock-test:
	@tools/rock-test.sh

CURL_TESTS ?= test-host test-lua
curl-matrix: deps-test
	@tools/curl-matrix.sh $(BUILD) $(CURL_TESTS)

json-schema-suite: $(MODULE)
	@tools/json-schema-suite.sh $(BUILD)

interop: deps-test
	@$(MAKE) --no-print-directory all
	@tools/interop.sh $(BUILD)

# Not in make test: it takes a browser.
browser: $(MODULE)
	@tools/deps.sh build test browser docs
	@$(MAKE) --no-print-directory test-lua SPECS="$(wildcard spec/browser/*_browser.lua)"

# Not in make test: they take the packages of compilers and qemu.
portable:
	@tools/deps.sh build portable
	@tools/portable.sh

foreign: $(MODULE)
	@tools/deps.sh build foreign
	@tools/foreign.sh $(BUILD)
	@tools/foreign_module.sh $(BUILD)

# Not in make test: it takes the packages of these servers and programs.
hosts: $(MODULE)
	@tools/deps.sh build test hosts
	@$(MAKE) --no-print-directory test-lua SPECS="$(wildcard spec/hosts/*_host.lua)"

interop-full: $(MODULE)
	@tools/interop.sh $(BUILD) full

# }}}

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj $(BUILD)/spec $(BUILD)/reused -name '*.d' 2>/dev/null)

.PHONY: all memory chaos engines help lib install uninstall dist release pack-test examples test-c test-host test-lua test-all test demo deps-build \
  deps-test arch docs docs-check types spelling generate lint asan asan-c asan-lua valgrind tsan analyse callgrind linear fuzz chaos browser hosts portable foreign interop interop-full json-schema-suite bench bench-peers plots curl-matrix \
  lua-matrix rock-test clean
