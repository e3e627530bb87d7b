# Everything here needs Go and make; a target downloads its other needs into the user's cache.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/adsync

# The project's toolchain builds the tools at these versions, outside go.mod: a linter would add 200 modules that the
# program does not use.
GOLANGCI_VERSION := v2.15.0
GOTESTSUM_VERSION := v1.13.0
GOLANGCI := $(CACHE)/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GOVULNCHECK_VERSION := v1.9.0
GOTESTSUM := $(CACHE)/gotestsum-$(GOTESTSUM_VERSION)/gotestsum
GOVULNCHECK := $(CACHE)/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck
# Prometheus too, with the one way of discovering targets that its file uses.
PROMETHEUS_VERSION := v0.316.0
PROMETHEUS := $(CACHE)/prometheus-$(PROMETHEUS_VERSION)/prometheus

# A server of S3.
VERSITYGW_VERSION := v1.8.0
VERSITYGW := $(CACHE)/versitygw-$(VERSITYGW_VERSION)/versitygw

# Sends generated requests to the API. It is Python.
SCHEMATHESIS_VERSION := 4.32.5
SCHEMATHESIS := $(CACHE)/schemathesis-$(SCHEMATHESIS_VERSION)/bin/schemathesis

# Programs that read report files, and write ORC files. They are Python.
READERS_PACKAGES := pandas==3.1.1 pyarrow==26.0.1 openpyxl==3.1.5 pyorc==0.12.0
READERS := $(CACHE)/readers-3.1.1-26.0.1-3.1.5-0.12.0

# Test programs come without debugging data: linking takes two thirds of the time, and a panic still names its lines.
# RESULTS=DIR also writes the results of each test target to DIR/TARGET.json, one `go test -json` event per line.
RESULTS ?=
TEST = $(GOTESTSUM) --format pkgname --hide-summary skipped \
	$(if $(RESULTS),--jsonfile $(abspath $(RESULTS))/$@.json) -- -ldflags=-w

# Packages for which a real Kafka, MariaDB, Redis, OpenSSH or vsftpd makes a difference. The slowest is first, so that
# others run at the same time.
SERVICE_PACKAGES := adsync/test/e2e adsync/base/... adsync/producer/... adsync/consumer/... adsync/engine/... \
	adsync/media/pull/... adsync/upkeep/... adsync/media/token/... adsync/media/field/... \
	adsync/media/.../simulated adsync/publish/place adsync/jobs/... \
	adsync/test/...

.PHONY: help
help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/adsync, one static binary with its time zones.
	CGO_ENABLED=0 $(GO) build -trimpath -tags timetzdata -o bin/adsync ./cmd/adsync

.PHONY: run
run: ## Run everything in one process, with simulated platforms: nothing to install.
	$(GO) run ./cmd/adsync standalone

# Kafka, MariaDB and Redis are containers where a Docker engine answers, otherwise programs of this machine, which are
# downloaded. Report files go to versitygw, OpenSSH and vsftpd, if these are available. ACCOUNTS=… sets the number of
# accounts.
DEMO = PATH="$(dir $(VERSITYGW)):$$PATH" bin/services --only kafka,mariadb,redis,s3,sftp,ftps -- \
	bin/demo -prometheus $(PROMETHEUS) $(if $(ACCOUNTS),-accounts $(ACCOUNTS))

.PHONY: demo
demo: build $(PROMETHEUS) $(VERSITYGW) ## Run docker-compose.yml's deployment as processes, with simulated platforms.
	$(GO) build -o bin/services ./test/services
	$(GO) build -o bin/demo ./test/demo
	$(DEMO) || test $$? -eq 130 # Ctrl-C ends it.

.PHONY: demo-check
demo-check: build $(PROMETHEUS) $(VERSITYGW) ## Run make demo, compare boards, pages and report files, and end.
	$(GO) build -o bin/services ./test/services
	$(GO) build -o bin/demo ./test/demo
	$(DEMO) -check

.PHONY: check
check: lint check-sleeps check-tidy check-generated check-configs ## Run all checks without tests.

.PHONY: lint
lint: $(GOLANGCI) ## Check the format, vet and lint.
	$(GO) vet ./...
	$(GOLANGCI) fmt --diff
	$(GOLANGCI) run ./...

# GOVULNDB names another copy of the database. An unreachable one is no finding, so that this may be in a chain of
# checks.
.PHONY: vulnerabilities
vulnerabilities: $(GOVULNCHECK) ## Look for known vulnerabilities in what the program calls; needs vuln.go.dev.
	@if output=$$($(GOVULNCHECK) ./... 2>&1); then echo "$$output"; \
	elif grep -q 'fetching vulnerabilities' <<<"$$output"; then \
		echo "$$output"; echo "NOT CHECKED: the vulnerability database cannot be reached"; \
	else echo "$$output"; exit 1; fi

.PHONY: fmt
fmt: $(GOLANGCI) ## Format all Go files.
	$(GOLANGCI) fmt

.PHONY: check-sleeps
check-sleeps: ## Fail when a test sleeps in real time instead of waiting for an event.
	@! grep -rl --include='*_test.go' 'time\.Sleep(' . | xargs -r grep -L '"testing/synctest"' | grep . \
		|| { echo "these tests sleep outside a synctest bubble: use a channel or require.Eventually"; exit 1; }

.PHONY: check-tidy
check-tidy: ## Fail if `go mod tidy` would change go.mod or go.sum.
	$(GO) mod tidy -diff
	@if [ -f test/mysql8/go.mod ]; then cd test/mysql8 && $(GO) mod tidy -diff; fi
	cd client/generate && $(GO) mod tidy -diff && $(GO) vet ./...
	cd test/manifests && $(GO) mod tidy -diff && $(GO) vet ./...
	cd bench/peers && $(GO) mod tidy -diff && $(GO) vet ./...
	@cd bench/peers/machinery && if $(GO) mod download; then $(GO) vet ./...; \
	else echo "NOT CHECKED: bench/peers/machinery: its modules are not available"; fi # The benchmark then omits it.
	cd test/watch && $(GO) mod tidy -diff && $(GO) vet ./...
	cd test/page && $(GO) mod tidy -diff && $(GO) vet ./...
	cd test/vitess && $(GO) mod tidy -diff && $(GO) vet ./...

.PHONY: generate
generate: ## Write the generated files again.
	cd client/generate && $(GO) run . ../../docs/openapi.yaml > ../client.gen.go.new
	mv client/client.gen.go.new client/client.gen.go # The program may use a new field.
	$(GO) run ./cmd/adsync config reference > docs/configuration.md.new
	$(GO) run ./cmd/adsync dictionary > docs/data-dictionary.md.new
	$(GO) run ./deploy/helm > deploy/helm/adsync/medias.txt
	mv docs/configuration.md.new docs/configuration.md
	mv docs/data-dictionary.md.new docs/data-dictionary.md

.PHONY: check-generated
check-generated: ## Fail if a generated file is stale.
	@$(GO) run ./cmd/adsync config reference | diff -u docs/configuration.md - \
		|| { echo "docs/configuration.md is stale: run make generate"; exit 1; }
	@$(GO) run ./cmd/adsync dictionary | diff -u docs/data-dictionary.md - \
		|| { echo "docs/data-dictionary.md is stale: run make generate"; exit 1; }
	@$(GO) run ./deploy/helm | diff -u deploy/helm/adsync/medias.txt - \
		|| { echo "deploy/helm/adsync/medias.txt is stale: run make generate"; exit 1; }
	@cd client/generate && $(GO) run . ../../docs/openapi.yaml | diff -u ../client.gen.go - \
		|| { echo "client/client.gen.go is stale: run make generate"; exit 1; }

.PHONY: check-configs
check-configs: ## Check configs/, docker-compose.yml and deploy/ with the programs that read them.
	$(GO) test -count=1 ./test/deploy # Without the test cache, which does not notice a changed program.
	@$(MAKE) --no-print-directory test-manifests

.PHONY: test-manifests
test-manifests: $(GOTESTSUM) ## Check docker-compose.yml and the Helm chart with the libraries that read them.
	cd test/manifests && $(TEST) -count=1 ./...

.PHONY: test
# The slowest packages begin first, so that the others run at the same time. Their tests wait, for a platform's limits
# or a backoff, more than they compute. The garbage collector runs less often than by default, until a process has
# 1 GiB: it would take up to a fifth of the CPU time. Properties are tried half as often as in test-services.
test: $(GOTESTSUM) ## Run all tests on the embedded parts; needs nothing but Go.
	GOGC=2000 GOMEMLIMIT=1GiB RAPID_CHECKS=50 $(TEST) -p 4 -parallel 4 -timeout 20m adsync/standalone adsync/test/e2e \
		adsync/test/platforms adsync/standalone/verify adsync/cmd/adsync ./...

.PHONY: test-race
# SQLite under the detector takes ten to thirty times as long. The whole flow, whose parts have their own tests, and the
# packages of SQL, which the tests of producers and consumers use, would take a quarter of an hour. The simulation of
# limits has one goroutine, cmd/adsync puts parts together, test/deploy runs processes, and test/house reads files. The
# other targets check properties fully; here a few of their cases show how goroutines meet.
WITHOUT_RACE := cmd/adsync|quota|standalone|standalone/verify|base/store(/[a-z]+)?|media/account|simulator|upkeep
WITHOUT_RACE := $(WITHOUT_RACE)|test/deploy|test/house|test/e2e|test/platforms|simulated
test-race: $(GOTESTSUM) ## Run the tests of the parts with the race detector; needs a C compiler too.
	GOGC=400 RAPID_CHECKS=20 $(TEST) -race -timeout 20m $$($(GO) list ./... | grep -vE '/($(WITHOUT_RACE))$$')

.PHONY: test-services
test-services: $(GOTESTSUM) ## Run the tests of services on real servers, MySQL 8's dialect and Vitess's planner.
	$(GO) build -o bin/services ./test/services
	@rm -f $(STATEMENTS)
	ADSYNC_TEST_STATEMENTS=$(STATEMENTS) bin/services --memory --only kafka,mariadb,redis,sftp,ftps -- \
		$(TEST) -count=1 -p 2 -timeout 20m $(SERVICE_PACKAGES)
	@$(MAKE) --no-print-directory plan-statements
	@# One uses a processor, and the other mostly waits for servers.
	@$(MAKE) --no-print-directory -j2 --output-sync=target \
		$(if $(wildcard test/mysql8/go.mod),test-mysql8) test-deployments
	@$(MAKE) --no-print-directory test-watch

.PHONY: test-deployments
test-deployments: $(GOTESTSUM) ## Run one flow on each kind of Redis, Kafka and MariaDB.
	$(GO) build -o bin/services ./test/services
	ADSYNC_TEST_DEPLOYMENTS=1 bin/services --memory -- \
		$(TEST) -count=1 -timeout 15m -run '^TestServers_' ./test/e2e

.PHONY: test-rig
test-rig: $(GOTESTSUM) ## Kill, freeze and promote servers of all kinds: a test of the tests' own rig.
	ADSYNC_TEST_RIG=1 $(TEST) -count=1 -parallel 1 -timeout 15m ./test/services/local

.PHONY: drill
drill: $(GOTESTSUM) $(PROMETHEUS) ## Play six faults of a deployment: each is reported, and its runbook fixes it.
	$(GO) build -o bin/services ./test/services
	PROMETHEUS=$(PROMETHEUS) bin/services -- $(TEST) -count=1 -timeout 15m ./test/drill

.PHONY: test-watch
# The tests that take long wait for alerts.
test-watch: $(GOTESTSUM) $(PROMETHEUS) ## Check rules and boards with a real Prometheus: each alert fires and ends.
	cd test/watch && PROMETHEUS=$(PROMETHEUS) PROMTOOL=$(dir $(PROMETHEUS))promtool \
		$(TEST) -count=1 -parallel 8 ./...

.PHONY: test-page
# SHOTS=DIR keeps the pictures that it takes.
test-page: $(GOTESTSUM) ## Check the first page in a headless Chromium, on a phone and a wide screen, light and dark.
	@command -v chromium >/dev/null || { \
		test "$$(id -u)" = 0 || { echo "chromium is not installed; run: sudo apt-get install chromium"; exit 1; }; \
		apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
			install -q -y --no-install-recommends chromium fonts-noto-cjk >/dev/null; }
	cd test/page && $(if $(SHOTS),ADSYNC_PAGE_SHOTS=$(abspath $(SHOTS))) $(TEST) -count=1 ./...

.PHONY: pictures
# URL=… is the address of a running standalone, if it is not the default one.
pictures: ## Take the pictures of docs/pictures again, of a running standalone; needs Chromium, as test-page does.
	cd test/page && ADSYNC_PAGE_PICTURES=$(abspath docs/pictures) \
		ADSYNC_PAGE_URL=$(or $(URL),http://127.0.0.1:8080/) $(GO) test -count=1 -run TestPicture ./...

.PHONY: test-formats
# It needs Python's packages and LibreOffice, and says so where they are not available.
test-formats: $(GOTESTSUM) ## Read report files of each format with pandas, pyarrow, openpyxl and LibreOffice.
	@command -v soffice >/dev/null || { test "$$(id -u)" = 0 && apt-get update -q >/dev/null && \
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends \
			libreoffice-calc >/dev/null; } || echo "NOT CHECKED: LibreOffice (libreoffice-calc) is not installed"
	@if $(MAKE) --no-print-directory $(READERS)/installed; \
	then ADSYNC_TEST_PYTHON=$(READERS)/bin/python $(TEST) -count=1 ./test/formats ./publish/orc; \
	else echo "NOT CHECKED: $(READERS_PACKAGES) cannot be installed"; fi

# EXAMPLES=n and SEED=n choose the requests. It needs Python's packages, and says so where they are not available.
.PHONY: test-schema
test-schema: build ## Send generated requests to each operation of the API of a standalone.
	@if $(MAKE) --no-print-directory $(SCHEMATHESIS); \
	then $(GO) run ./test/schema -schemathesis $(SCHEMATHESIS) $(if $(EXAMPLES),-examples $(EXAMPLES)) \
		$(if $(SEED),-seed $(SEED)); \
	else echo "NOT CHECKED: schemathesis cannot be installed"; fi

.PHONY: services
services: ## Start Kafka, MariaDB and Redis, and print their addresses for a shell, until Ctrl-C.
	$(GO) build -o bin/services ./test/services
	bin/services --keep

.PHONY: test-mysql8
test-mysql8: $(GOTESTSUM) ## Run every statement against a MySQL 8 dialect inside the test's process.
	cd test/mysql8 && RAPID_CHECKS=20 $(TEST) -count=1 -timeout 15m ./...

# The statements that an end-to-end run sends to its data database.
STATEMENTS := $(abspath bin/statements.json)

.PHONY: test-vitess
test-vitess: $(GOTESTSUM) ## Plan the statements of an end-to-end run on a MariaDB with Vitess's planner.
	$(GO) build -o bin/services ./test/services
	@rm -f $(STATEMENTS)
	ADSYNC_TEST_STATEMENTS=$(STATEMENTS) bin/services --memory -- \
		$(GO) test -count=1 -run TestDeployment_StatementsNameTheirShard ./test/e2e
	@$(MAKE) --no-print-directory plan-statements

.PHONY: plan-statements
plan-statements: $(GOTESTSUM) ## Plan the statements of the last such run again.
	cd test/vitess && ADSYNC_TEST_STATEMENTS=$(STATEMENTS) $(TEST) -count=1 ./...

# SCENARIO=a,b and SEED=n repeat some of them; CHAOS_FLAGS takes the other flags of `go run ./test/chaos -help`.
CHAOS = bin/chaos $(if $(SCENARIO),-scenario $(SCENARIO)) $(if $(SEED),-seed $(SEED)) $(CHAOS_FLAGS)

.PHONY: chaos
chaos: ## Break a loaded deployment in seeded ways and judge its tables (SCENARIO=… SEED=… repeats one).
	$(GO) build -o bin/chaos ./test/chaos
	$(CHAOS)

.PHONY: chaos-long
chaos-long: ## Break it in all ways.
	$(GO) build -o bin/chaos ./test/chaos
	$(CHAOS) -long

.PHONY: chaos-mutants
chaos-mutants: ## Remove adsync's mechanisms, one at a time, and show that a scenario fails (MUTANT=…).
	$(GO) build -o bin/chaos ./test/chaos
	$(CHAOS) -mutants $(or $(MUTANT),all)

.PHONY: soak
soak: ## Keep steady load for MINUTES (60), lose a node every five, and judge whether anything grew.
	$(GO) build -o bin/chaos ./test/chaos
	$(CHAOS) -soak $(or $(MINUTES),60)

# FUZZTIME=5s is shorter. An input that fails is kept in the package's testdata/fuzz, and is a case of its tests from
# then on.
.PHONY: fuzz
fuzz: ## Try each reader with generated input, a minute each (FUZZTIME=…).
	@grep -rE --include='*_test.go' '^func Fuzz[A-Za-z]+\(' . | sed -E 's|(.*)/[^/]*:func (Fuzz[A-Za-z]+).*|\1 \2|' | \
	while read -r package name; do \
		echo "== $$package $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(or $(FUZZTIME),60s) "$$package"; \
	done

# FLAGS takes the other flags of `go run ./test/freshness -help`.
.PHONY: freshness
freshness: ## Measure how old the figures in the summaries are, under limits (ACCOUNTS=… MINUTES=… FLAGS=…).
	$(GO) build -o bin/freshness ./test/freshness
	bin/freshness $(if $(ACCOUNTS),-accounts $(ACCOUNTS)) $(if $(MINUTES),-minutes $(MINUTES)) $(FLAGS)

# BENCH_FLAGS takes the flags of `go run ./bench -help`, such as -only noop,latency.
.PHONY: bench
bench: ## Measure how much adsync does on this machine, on real services, next to other task queues.
	$(GO) build -o bin/bench ./bench
	bin/bench $(BENCH_FLAGS)

.PHONY: bench-day
bench-day: ## Measure a day of 28 million subtasks; needs a quarter of an hour and 15 GB of disk.
	$(GO) build -o bin/bench ./bench
	bin/bench -rounds 1 -only day -out bench/out/day.json $(BENCH_FLAGS)

# The cost of a subtask is measured with 28 million rows, 4 million accounts, a million waiting subtasks and 10,000
# tasks, and with more consumers and partitions.
.PHONY: bench-flat
bench-flat: ## Measure whether a subtask costs the same under load, and scaling: twenty minutes, 15 GB of disk.
	$(GO) build -o bin/bench ./bench
	bin/bench -rounds 3 -only flat-day,flat-accounts,flat-waiting,flat-tasks,scale-consumers,scale-partitions \
		-out bench/out/flat.json $(BENCH_FLAGS)

# BENCH_FLAGS="-scale 0.02" takes a fiftieth of the rows.
.PHONY: bench-big
bench-big: ## Measure tables of a hundred million rows: half an hour, 70 GB of disk (BENCH_FLAGS="-scale 0.02").
	$(GO) build -o bin/big ./bench/big
	bin/big $(BENCH_FLAGS)

# BENCH_FLAGS="-scale 0.02" takes a fiftieth of the rows.
.PHONY: bench-publish
bench-publish: ## Measure how fast report files are made and delivered: 12 GB of disk (BENCH_FLAGS="-scale 0.02").
	$(GO) build -o bin/publish ./bench/publish
	bin/publish $(BENCH_FLAGS)

.PHONY: switches
# SWITCH=a,b and SEED=n choose; `go run ./test/switches -list` names them. About a minute and a half each, after one
# that has all.
switches: ## Remove adsync's defences, one at a time: the night of standalone finds a wrong row (SWITCH=…).
	$(GO) build -o bin/switches ./test/switches
	bin/switches $(if $(SWITCH),-switch $(SWITCH)) $(if $(SEED),-seed $(SEED))

# MEDIA=… is the platform; without it, the first one by name. TRIAL_FLAGS=-all runs the tests of all packages, also of
# those that the platform does not affect.
.PHONY: trial
trial: $(GOTESTSUM) ## Remove one platform from a copy of the tree: the rest builds and passes its tests.
	$(GO) build -o bin/trial ./test/trial
	GOGC=400 bin/trial $(if $(MEDIA),-media $(MEDIA)) $(TRIAL_FLAGS) $(TEST) -p 4 -parallel 4 -timeout 20m

.PHONY: trial-quick
trial-quick: ## The same without the tests that take minutes.
	@$(MAKE) --no-print-directory trial TRIAL_FLAGS=-quick

.PHONY: clean
clean: ## Remove the built programs; the cache of tools stays.
	rm -rf bin

$(GOLANGCI):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GOVULNCHECK):
	GOBIN=$(@D) $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

$(GOTESTSUM):
	GOBIN=$(@D) $(GO) install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)

$(SCHEMATHESIS):
	python3 -m venv $(@D)/..
	$(@D)/pip install --quiet schemathesis==$(SCHEMATHESIS_VERSION)

$(READERS)/installed:
	python3 -m venv $(@D)
	$(@D)/bin/pip install --quiet $(READERS_PACKAGES)
	touch $@

$(VERSITYGW):
	GOBIN=$(@D) $(GO) install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)

$(PROMETHEUS):
	GOBIN=$(@D) $(GO) install -tags remove_all_sd,enable_dns_sd \
		github.com/prometheus/prometheus/cmd/{promtool,prometheus}@$(PROMETHEUS_VERSION)
