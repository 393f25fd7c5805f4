# peers_venv.py - the peers, in an environment of their own
#
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing of the library or its tests needs these packages: they stay below build/."""

import hashlib
import subprocess
import sys
import venv

from command_line import TREE

REQUIREMENTS = TREE / "bench" / "compare" / "requirements.txt"
FOLDER = TREE / "build" / "compare-venv"


class CannotInstall(Exception):
    """The text says what to do."""


def python():
    """The interpreter of the environment, which is made and filled where it is not there yet."""
    interpreter = FOLDER / "bin" / "python"
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    done = FOLDER / "installed"
    if interpreter.exists() and done.exists() and done.read_text() == digest:
        return interpreter
    print(f"Installing the peers into {FOLDER.relative_to(TREE)} (once)", file=sys.stderr)
    try:
        venv.create(FOLDER, clear=True, with_pip=True)
    except (subprocess.CalledProcessError, ImportError) as fault:
        raise CannotInstall(
            "Python's venv is incomplete; on Debian: apt-get install python3-venv"
        ) from fault
    pip = [interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", REQUIREMENTS], check=False).returncode != 0:
        raise CannotInstall("pip could not install the peers; its own message is above")
    done.write_text(digest)
    return interpreter
