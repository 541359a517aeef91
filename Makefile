# SPDX-License-Identifier: Apache-2.0
#
# The front of the build: one word for each thing one does with this tree. What a word does stands in
# scripts/, Package.swift or Benchmarks/.

SWIFT ?= swift
SETUP ?= yes
ARGS ?=

checked := --explicit-target-dependency-import-check error
release := -c release --static-swift-stdlib $(checked)
benchmarks := --package-path Benchmarks --scratch-path .build/benchmarks
swift_sources := Sources Tests Plugins Package.swift Benchmarks
c_sources = $(shell find bpf Sources Benchmarks -name '*.[ch]' -not -path '*/.build/*')

ifeq ($(SETUP),yes)
setup = @scripts/setup.sh
else
setup = @:
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup build run test userspace-only test-benchmarks lint format bench clean

help: ## print these lines
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

setup: ## install what is missing from Debian's packages, and check the toolchain
	$(setup) build test lint

build: ## build the daemon: .build/release/udp-fanout
	$(setup) build
	$(SWIFT) build $(release) --product udp-fanout

run: build ## build and start the daemon until Ctrl+C; ARGS='--config FILE' instead of the demo
	.build/release/udp-fanout $(or $(ARGS),demo)

# One test at a time: several open sockets by the thousand, load both CPUs or count what is open.
test: ## run every test, and build the daemon that needs no libbpf; ARGS='--filter NAME' for some
	$(setup) test
	$(MAKE) --no-print-directory userspace-only test-benchmarks SETUP=no
	$(SWIFT) test $(checked) --no-parallel $(ARGS)

userspace-only: ## build the daemon without the kernel modes and show that it needs no libbpf
	$(setup) build
	$(SWIFT) build --disable-default-traits --product udp-fanout --scratch-path .build/userspace-only
	scripts/check-userspace-only.sh .build/userspace-only/debug/udp-fanout

test-benchmarks: ## test the benchmarks and run them for a moment
	$(setup) test
	$(SWIFT) test $(benchmarks)

lint: ## check formats, floors and tidiness
	$(setup) lint
	$(SWIFT) format lint --strict --recursive $(swift_sources)
	clang-format --dry-run -Werror $(c_sources)
	$(SWIFT) test $(checked) --filter HouseTests

format: ## rewrite every file in its format
	$(setup) lint
	$(SWIFT) format --in-place --recursive $(swift_sources)
	clang-format -i $(c_sources)

bench: build ## measure the cost of a datagram; ARGS='--markdown docs/performance.md'
	$(SWIFT) build -c release $(benchmarks)
	.build/benchmarks/release/bench --daemon .build/release/udp-fanout $(ARGS)

clean: ## remove everything that was built
	rm -rf .build Benchmarks/.build
