"""Builds the wheel, which holds the package's Python files and the shared library (PEP 517, PEP 427).

CMake and Ninja compile the library from the checkout that contains this folder, unless NLSQ_LIBRARY names the
file. Nothing is downloaded, and no build tool of Python is needed.
"""

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
NAME = "nlsqfit"


def version():
    """Return the version of the library, which is written in one header."""
    text = (ROOT / "solver/include/nlsq/version.hpp").read_text()
    return re.search(r'define NLSQ_VERSION "([^"]*)"', text).group(1)


def tag():
    return f"py3-none-linux_{platform.machine()}"


def library():
    """Return the path of libnlsq.so. It is compiled now unless NLSQ_LIBRARY names it."""
    given = os.environ.get("NLSQ_LIBRARY")
    if given:
        path = Path(given).resolve()
        if not path.is_file():
            raise SystemExit(f"NLSQ_LIBRARY names {given}, which is no file")
        return path
    for tool, package in (("cmake", "cmake"), ("ninja", "ninja-build")):
        if shutil.which(tool) is None:
            raise SystemExit(
                f"{tool} is missing, and the library must be compiled: install {package}, run `./dev build` "
                "once, which installs all that is needed, or set NLSQ_LIBRARY to the path of libnlsq.so"
            )
    build = ROOT / "build" / "python"
    parts = [f"-DNLSQ_BUILD_{part}=OFF" for part in ("CLI", "TESTS", "EXAMPLES", "BENCH")]
    subprocess.run(
        ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
         "-DBUILD_SHARED_LIBS=ON", *parts],
        check=True,
    )  # fmt: skip
    subprocess.run(["ninja", "-C", str(build), "nlsq"], check=True)
    return sorted(build.glob("libnlsq.so*"), key=lambda p: len(p.name))[0].resolve()


def metadata():
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {NAME}\nVersion: {version()}\n"
        "Summary: Nonlinear least squares for NumPy, with certified answers\n"
        "License: BSD-3-Clause\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.20\n"
        "Provides-Extra: plot\nRequires-Dist: matplotlib; extra == 'plot'\n"
        "Description-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_text()
    )


def _folder():
    return f"{NAME}-{version()}.dist-info"


def _wheel_file():
    return f"Wheel-Version: 1.0\nGenerator: nlsqfit_build\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its file name."""
    name = f"{NAME}-{version()}-{tag()}.whl"
    files = {}
    for path in sorted((HERE / NAME).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.name != "libnlsq.so":
            files[str(path.relative_to(HERE))] = path.read_bytes()
    files[f"{NAME}/libnlsq.so"] = library().read_bytes()
    files[f"{_folder()}/METADATA"] = metadata().encode()
    files[f"{_folder()}/WHEEL"] = _wheel_file().encode()
    files[f"{_folder()}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = "".join(f"{path},{_hash(data)},{len(data)}\n" for path, data in files.items())
    files[f"{_folder()}/RECORD"] = (record + f"{_folder()}/RECORD,,\n").encode()
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # it has no time, so that the same files give the same wheel
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name


def _hash(data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return "sha256=" + digest.decode()


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes only the metadata, which pip asks for before the build."""
    folder = Path(metadata_directory) / _folder()
    folder.mkdir()
    (folder / "METADATA").write_text(metadata())
    (folder / "WHEEL").write_text(_wheel_file())
    return folder.name


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError(
        "there is no source package: the library is compiled from the checkout; build a wheel"
    )
