#!/usr/bin/env bash
# Installs the package into a fresh virtual environment and runs its tests there, without the network.
# Usage: check_package.sh PYTHON SOURCES LIBRARY ENVIRONMENT [NLSQ-FIT]
set -euo pipefail
python=$1 sources=$2 library=$3 environment=$4
export NLSQ_FIT=${5:-}  # the answers must have the bits of this program's

rm -rf "$environment"
"$python" -m venv --system-site-packages "$environment"
NLSQ_LIBRARY=$library "$environment/bin/python" -m pip install --quiet --no-index --no-deps \
  --disable-pip-version-check "$sources"
cd "$environment"  # not in the sources, so that the installed package is the one that is tested
unset NLSQ_LIBRARY
exec "$environment/bin/python" -m pytest -q -x -rs --rootdir "$sources" -c "$sources/pyproject.toml" "$sources/tests"
