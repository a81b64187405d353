# make run     build, then serve config.yaml (the demo origin); prints the address to open
# make test    everything: unit, end to end, sanitizers, fuzzing; ends with the totals
# make bench   measure against nginx and HAProxy
# make install PREFIX=/usr/local
# Packages that are missing are installed with apt-get (as root, or with sudo).

PREFIX ?= /usr/local
CONFIG ?= config.yaml
BINARY := .build/release/authproxy

BUILD_PACKAGES := libssl-dev libnghttp2-dev libyaml-dev libre2-dev zlib1g-dev libisal-dev libbrotli-dev libzstd-dev pkg-config libc6-dev libstdc++-12-dev
TEST_PACKAGES := python3-venv brotli caddy curl fonts-dejavu-core nghttp2-client nginx chromium gcc strace openssl systemd testssl.sh util-linux procps
BENCH_PACKAGES := nginx haproxy wrk nghttp2-client hey curl openssl gcc libc6-dev python3

.PHONY: run build test bench install clean packages

run: build
	$(BINARY) run -c $(CONFIG)

build: packages
	swift build -c release --static-swift-stdlib --product authproxy

packages:
	@command -v swift >/dev/null || { echo "the Swift 6.3 toolchain is not on PATH" >&2; exit 1; }
	@scripts/packages $(BUILD_PACKAGES)

test: packages
	@scripts/packages $(TEST_PACKAGES)
	@scripts/venv
	@scripts/test

bench: build
	@scripts/packages $(BENCH_PACKAGES)
	bench/run

install: build
	install -D -m 0755 -s $(BINARY) $(DESTDIR)$(PREFIX)/bin/authproxy
	install -D -m 0644 deploy/authproxy.service $(DESTDIR)/etc/systemd/system/authproxy.service
	install -D -m 0644 deploy/authproxy.socket $(DESTDIR)/etc/systemd/system/authproxy.socket
	install -d $(DESTDIR)/etc/authproxy
	test -e $(DESTDIR)/etc/authproxy/config.yaml || install -m 0640 config.yaml $(DESTDIR)/etc/authproxy/config.yaml

clean:
	rm -rf .build .venv bench/out
