"""Times and peaks of whole processes, and of the program on a terminal of its own."""

import fcntl
import json
import os
import pty
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

median = statistics.median


def stop(why, code=2):
    """Ends the run with a sentence."""
    print("side_by_side: " + why, file=sys.stderr)
    sys.exit(code)


def wall(command, **more):
    """Milliseconds of a process from its start to its end, and what it printed."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, check=False, **more)
        took = (time.perf_counter() - began) * 1e3
        out.seek(0)
        if done.returncode:
            stop(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace')[-400:]}")
        return took, out.read()


def answer(command, **more):
    """The JSON a process prints."""
    return json.loads(wall(command, **more)[1])


def peak(command, **more):
    """Peak resident bytes of a process, and what it printed.

    A child's peak counts what its parent held before the exec, and that is python here: GNU time stands between where it is
    there, as it is small.
    """
    gnu = shutil.which("time")
    if not gnu or b"GNU" not in subprocess.run([gnu, "--version"], capture_output=True, check=False).stdout:
        stop("GNU time is not here (Debian's package time): no peak can be told without it", 77)
    with tempfile.NamedTemporaryFile() as note:
        out = wall([gnu, "-f", "%M", "-o", note.name, *command], **more)[1]
        return int(note.read().split()[-1]) * 1024, out


def pairs(ours, theirs, rounds):
    """Both in turn, so that they meet the same noise, after one round that only warms; the medians and the last answers."""
    times = ([], [])
    for number in range(rounds + 1):
        last = [ours(), theirs()]
        if number:
            for side in (0, 1):
                times[side].append(last[side][0])
    return median(times[0]), median(times[1]), last[0][1], last[1][1]


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, command, size=(36, 130), env=None):
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
            os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})})
            os.execvp(command[0], list(map(str, command)))
        self.seen = b""

    def read(self, seconds):
        """What it writes within some seconds; nothing where it keeps still."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return b""
        # Programs ask the terminal who it is, and wait for a while.
        if b"\x1b[c" in data:
            os.write(self.fd, b"\x1b[?62;c")
        if b"\x1b[6n" in data:
            os.write(self.fd, b"\x1b[1;1R")
        self.seen += data
        return data

    def until(self, text, seconds=60):
        """Milliseconds from the start until a text has been written."""
        end = time.perf_counter() + seconds
        while text not in self.seen:
            if time.perf_counter() > end:
                stop(f"the screen never showed {text!r}: {self.seen[-300:]!r}")
            self.read(0.5)
        return (time.perf_counter() - self.began) * 1e3

    def still(self, quiet=0.6, seconds=120):
        """Waits until it has nothing to say for a while."""
        end = time.perf_counter() + seconds
        while self.read(quiet) and time.perf_counter() < end:
            pass

    def press(self, key):
        """Milliseconds from a key to the whole frame that answers it."""
        began = time.perf_counter()
        os.write(self.fd, key)
        last = None
        while self.read(0.05 if last else 2):
            last = time.perf_counter()
        return ((last or began) - began) * 1e3

    def close(self):
        """Ends it."""
        os.write(self.fd, b"q")
        self.still(0.2, 2)
        os.close(self.fd)
        try:
            os.kill(self.pid, 9)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
