#!/usr/bin/env bash
# Runs ./dev test in a folder of its own, with tools that only note the arguments they are called with. It
# asks for Ceres, it configures again where Ceres was not found, it names the tests that were left out, and it
# ends with the status of ctest. Also checks that ./dev fit configures a new folder with only this CPU's
# kernels, to which ./dev test adds the others.
# usage: check_dev.sh DEV WORK
set -euo pipefail
dev=$1 work=$2
rm -rf "$work"
mkdir -p "$work/tools" "$work/build/release"
cp "$dev" "$work/dev"

tool() { printf '#!/usr/bin/env bash\necho "%s $*" >>"%s/asked"\n%s\n' "$1" "$work" "${2:-}" >"$work/tools/$1"; chmod +x "$work/tools/$1"; }
tool dpkg-query 'for package in "${@:2}"; do echo "$package installed"; done'
tool cmake
tool ninja
tool ctest 'exit 8'

fail() { echo "$1" >&2; cat "$work/asked" "$work/said" >&2; exit 1; }
run() {
  : >"$work/asked"
  status=0
  PATH="$work/tools:$PATH" "$work/dev" "${@:-test}" -R none >"$work/said" 2>&1 || status=$?
}

cache=$work/build/release/CMakeCache.txt
touch "$work/build/release/build.ninja"
for part in CLI TESTS EXAMPLES BENCH; do echo "NLSQ_BUILD_$part:BOOL=ON"; done >"$cache"
echo "Ceres_DIR:PATH=/usr/lib/cmake/Ceres" >>"$cache"
run
grep -q "dpkg-query.*libceres-dev" "$work/asked" || fail "Ceres is not among the packages"
! grep -q "^cmake" "$work/asked" || fail "configured again without a reason"
[[ $status -eq 8 ]] || fail "ended with $status, ctest with 8"
! grep -q "left out" "$work/said" || fail "a test was left out where none is"

sed -i 's|^Ceres_DIR.*|Ceres_DIR:PATH=Ceres_DIR-NOTFOUND|' "$cache"
echo "ceres_test_one: wants libceres-dev" >"$work/build/release/tests_left_out.txt"
run
grep -q "^cmake" "$work/asked" || fail "Ceres was not looked for again"
grep -q "ceres_test_one: wants libceres-dev" "$work/said" || fail "the test that was left out is not named"
[[ $status -eq 8 ]] || fail "ended with $status, ctest with 8"

echo "NLSQ_KERNELS:STRING=native" >>"$cache"
sed -i 's|^Ceres_DIR.*|Ceres_DIR:PATH=/usr/lib/cmake/Ceres|' "$cache"
run fit
! grep -q "^cmake" "$work/asked" || fail "./dev fit configured again without a reason"
run
grep -q "^cmake.*-DNLSQ_KERNELS=all" "$work/asked" || fail "./dev test does not add the kernels of other CPUs"
rm "$cache" "$work/build/release/build.ninja"
run fit
grep -q "^cmake.*-DNLSQ_KERNELS=native" "$work/asked" || fail "./dev fit builds kernels that this CPU does not need"
