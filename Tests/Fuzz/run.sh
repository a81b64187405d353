#!/bin/bash
# Builds the fuzz targets with the address sanitizer and runs each for SECONDS (60 when not given).
#
#   Tests/Fuzz/run.sh [SECONDS [TARGET...]]
#
# What a target found in earlier runs is kept below BUILD; the committed corpus only seeds it. Inputs that crash are written to
# Tests/Fuzz/FailCases/TARGET, and every input there is replayed before fuzzing begins.
#
# To add a target: a folder NAME with the entry point, corpus/NAME, and a `fuzz NAME MODULES...` line at the end.
set -euo pipefail

seconds=${1:-60}
shift || true
wanted=" $* "
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/.build/fuzz}
mkdir -p "$build"

# A crash would otherwise leave the backtracer waiting for ever, with our output in its hand.
export SWIFT_BACKTRACE=enable=no
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1

flags=(-O -swift-version 6 -parse-as-library -package-name authproxy -sanitize=fuzzer,address -I "$build"
    -enable-experimental-feature Lifetimes -enable-upcoming-feature ExistentialAny
    -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature MemberImportVisibility
    -Xcc "-fmodule-map-file=$root/Sources/CLinux/module.modulemap" -Xcc "-fmodule-map-file=$root/Sources/CYAML/module.modulemap"
    -Xcc "-fmodule-map-file=$root/Sources/COpenSSL/module.modulemap" -Xcc "-fmodule-map-file=$root/Sources/CNGHTTP2/module.modulemap"
    -Xcc "-fmodule-map-file=$root/Sources/CISAL/module.modulemap" -Xcc "-fmodule-map-file=$root/Sources/CZlib/module.modulemap" -Xcc "-fmodule-map-file=$root/Sources/CBrotli/module.modulemap"
    -Xcc "-fmodule-map-file=$root/Sources/CZstd/module.modulemap"
    -Xcc "-fmodule-map-file=$root/Sources/CRE2/include/module.modulemap")

libraries=()

# module NAME: compiles Sources/NAME; the modules that it imports must have been compiled before.
module() {
    local name=$1
    find "$root/Sources/$name" -name '*.swift' | sort > "$build/$name.sources"
    swiftc "${flags[@]}" -wmo -module-name "$name" -emit-module -emit-module-path "$build/$name.swiftmodule" \
        -emit-object -o "$build/$name.o" @"$build/$name.sources"
}

# fuzz NAME MODULES...: links the target with the modules it tests, replays its crashes and runs it.
fuzz() {
    local name=$1 objects=() module
    shift
    if [[ $wanted != "  " && $wanted != *" $name "* ]]; then return; fi
    for module in "$@"; do objects+=("$build/$module.o"); done
    swiftc "${flags[@]}" -use-ld=lld -module-name "Fuzz_$name" -o "$build/$name" "$here/Input.swift" "$here/$name"/*.swift "${objects[@]}" "${libraries[@]}"

    local found=$build/corpus/$name crashes=$here/FailCases/$name
    mkdir -p "$found"
    if [[ -d $crashes ]]; then timeout -s KILL 60 "$build/$name" "$crashes"/*; fi
    local dictionary=()
    if [[ -f $here/$name/tokens.dict ]]; then dictionary=(-dict="$here/$name/tokens.dict"); fi
    echo "== $name: $seconds s"
    local status=0
    timeout -s KILL $((seconds + 60)) "$build/$name" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
        -artifact_prefix="$build/$name." -print_final_stats=1 "${dictionary[@]}" "$found" "$here/corpus/$name" \
        2> "$build/$name.log" || status=$?
    grep -E '^stat::(number_of_executed|average_exec)|ERROR|Fatal|Test unit' "$build/$name.log" || true
    if [[ $status != 0 ]]; then
        tail -40 "$build/$name.log"
        mkdir -p "$crashes"
        cp "$build/$name".crash-* "$build/$name".timeout-* "$crashes" 2> /dev/null || true
        echo "$name failed; the input is in $crashes"
        exit 1
    fi
}

module HTTP

fuzz head HTTP
fuzz chunked HTTP
fuzz fields HTTP
if [[ $wanted == "  " || $wanted == *" proxyheader "* || $wanted == *" yaml "* ]]; then
    module Transport
    libraries=(-lssl -lcrypto)
    fuzz proxyheader Transport
fi

module HTML
fuzz page HTTP HTML

if [[ $wanted == "  " || $wanted == *" target "* || $wanted == *" yaml "* ]]; then
    clang++ -std=c++17 -O1 -fPIC -I "$root/Sources/CRE2/include" -c "$root/Sources/CRE2/cre2.cpp" -o "$build/CRE2.o"
    module Policy
    libraries=(-lre2 -lstdc++ -lyaml)
    fuzz target HTTP HTML Policy CRE2
fi
if [[ $wanted == "  " || $wanted == *" yaml "* ]]; then
    module Codings
    libraries+=(-lssl -lcrypto -lz -lisal -lbrotlidec -lbrotlienc -lzstd -lnghttp2)
    module Proxy
    module Config
    fuzz yaml HTTP HTML Policy CRE2 Codings Transport Proxy Config
fi
