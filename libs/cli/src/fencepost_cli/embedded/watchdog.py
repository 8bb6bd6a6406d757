"""Parent of one server, and its end: when standard input ends, the server is stopped.

Run as a script with the bare interpreter, so that it costs little:

    python -I -S watchdog.py [--user UID --group GID] -- SERVER ARGUMENT...

The other end of standard input is held by whoever wants the server. However that process goes, by
SIGKILL too, the kernel closes its end, and the server gets SIGINT (Postgres: fast shutdown), after
STOP_SECONDS SIGQUIT, at last SIGKILL. Exits as the server does.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

STOP_SECONDS = 10.0  # a fast shutdown writes a checkpoint; on a slow disk that is seconds, not more
QUIT_SECONDS = 5.0
PR_SET_PDEATHSIG = 1  # Linux: a second line, for when this process itself is killed


def main(arguments: list[str]) -> int:
    split = arguments.index("--")
    options, command = arguments[:split], arguments[split + 1 :]
    account = dict(zip(options[::2], map(int, options[1::2]), strict=True))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the pipe alone says when to stop
    server = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        user=account.get("--user"),
        group=account.get("--group"),
        extra_groups=[] if account else None,
        preexec_fn=_in_the_child,
    )
    threading.Thread(target=_stop_at_end_of_input, args=(server,), daemon=True).start()
    code = server.wait()
    return code if code >= 0 else 128 - code


def _in_the_child() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # no prctl: the pipe is enough
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _stop_at_end_of_input(server: "subprocess.Popen[bytes]") -> None:
    while os.read(0, 64):
        pass
    for number, seconds in ((signal.SIGINT, STOP_SECONDS), (signal.SIGQUIT, QUIT_SECONDS)):
        server.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(seconds)
            return
    server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
