#!/usr/bin/env bash
# Builds this crate for browsers: coordinator/web/static/fingerprint.wasm.xz, and next to it the digest of the sources that it was built
# from. Run it after a change of query, view or fingerprint; a test says when. The lock of the workspace gives the versions.
#
# It needs a compiler with the sources of its standard library, and wasm-ld (WASM_LD). If RUSTC is not set, they are taken from packages of
# Debian (bookworm and later), into a folder below the target folder; nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}/browser
mkdir -p "$target"
target=$(realpath "$target")

if [ -z "${RUSTC:-}" ]; then
  tools=$target/tools
  if [ ! -x "$tools/usr/bin/rustc" ]; then
    mkdir -p "$tools/packages"
    (
      cd "$tools/packages"
      std=$(apt-cache depends rustc-web | sed -n 's/.*Depends: \(libstd-rust-web-dev\).*/\1/p')
      shared=$(apt-cache depends "$std" | sed -n 's/.*Depends: \(libstd-rust-web-[0-9.]*\).*/\1/p')
      llvm=$(apt-cache depends "$shared" | sed -n 's/.*Depends: libllvm\([0-9]*\).*/\1/p')
      apt-get download rustc-web rust-web-src "$std" "$shared" "libllvm$llvm" "lld-$llvm"
      for package in *.deb; do dpkg -x "$package" ..; done
    )
  fi
  export RUSTC=$tools/usr/bin/rustc
  LD_LIBRARY_PATH=$(dirname "$(find "$tools" -name 'libLLVM*.so*' -type f | head -n 1)"):$tools/usr/lib/x86_64-linux-gnu
  export LD_LIBRARY_PATH
  WASM_LD=$(find "$tools/usr/bin" -name 'wasm-ld*' | head -n 1)
fi

# A package of the reader of zip archives brings functions for a tool that binds modules to scripts; nothing here calls them.
linker=$target/linker
cat >"$linker" <<END
#!/usr/bin/env bash
arguments=()
while [ \$# -gt 0 ]; do
  case \$1 in
    --export)
      case \$2 in __wb* | __externref* | __abort_handler | __instance_terminated) ;; *) arguments+=("\$1" "\$2") ;; esac
      shift
      ;;
    *) arguments+=("\$1") ;;
  esac
  shift
done
exec ${WASM_LD:-wasm-ld} "\${arguments[@]}"
END
chmod +x "$linker"

# The standard library is built as well, which the compiler allows only so.
export RUSTC_BOOTSTRAP=1
# Small: a browser loads it. What hashes and cuts is fast all the same. A panic ends the module; its words would be a third of it.
settings=(--config 'profile.release.lto="fat"' --config 'profile.release.codegen-units=1' --config 'profile.release.panic="abort"' --config 'profile.release.opt-level="z"')
for package in $(sed -n 's/^package\.\([a-z0-9_-]*\)[. ].*opt-level.*/\1/p' Cargo.toml); do
  case $package in
    cognate-fingerprint | blake3) ;;
    *) settings+=(--config "profile.release.package.$package.opt-level=\"z\"") ;;
  esac
done
CARGO_TARGET_DIR=$target CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker \
  RUSTFLAGS="-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none" \
  cargo rustc --locked --release --target wasm32-unknown-unknown -Zbuild-std=std,panic_abort "${settings[@]}" \
  -p cognate-query --lib --crate-type cdylib -- -C link-arg=--max-memory=1073741824
xz -9e -c "$target/wasm32-unknown-unknown/release/cognate_query.wasm" >coordinator/web/static/fingerprint.wasm.xz
unset RUSTC LD_LIBRARY_PATH RUSTC_BOOTSTRAP
cargo run --quiet -p cognate-integration-tests --bin browser-sources >coordinator/web/static/fingerprint.sources
ls -l coordinator/web/static/fingerprint.wasm.xz
