"""A browser to be driven: Chromium without a window, over a pipe (its DevTools protocol), with nothing but the standard library."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time


class Browser:
    """One process of Chromium."""

    def __init__(self, path):
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()
        self.profile = tempfile.mkdtemp(prefix="kbest-browser-")
        command = [
            path, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--no-sandbox",
            "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
            "--force-color-profile=srgb", "about:blank",
        ]
        # The protocol wants file descriptors 3 and 4. Shells know only one digit, so the pipes are moved by the child.
        def place():
            high_read, high_write = os.dup(to_read), os.dup(to_write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.number, self.buffer, self.events = 0, b"", []
        try:
            # In a session of its own, so that all its processes can be ended together; what they leave, they leave in the profile.
            self.process = subprocess.Popen(
                command, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "TMPDIR": self.profile},
            )
        except OSError:
            shutil.rmtree(self.profile)
            raise
        os.close(to_read)
        os.close(to_write)

    def close(self):
        try:
            self.send("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # helpers that outlive it would write into the profile again
        except ProcessLookupError:
            pass
        for _ in range(100):
            shutil.rmtree(self.profile, ignore_errors=True)
            if not os.path.exists(self.profile):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.profile} cannot be removed")

    def message(self, seconds):
        """The next message, or None if none comes in time."""
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.of], [], [], left)[0]:
                return None
            more = os.read(self.of, 1 << 20)
            if not more:
                raise RuntimeError("the browser has gone")
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def send(self, method, session=None, seconds=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        end = time.monotonic() + seconds
        while True:
            answer = self.message(end - time.monotonic())
            if answer is None:
                raise RuntimeError(f"{method}: no answer in {seconds} s")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)


class Page:
    """One page; remembers everything that went wrong on it."""

    def __init__(self, browser, width=1280, height=900):
        self.browser = browser
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.send(f"{domain}.enable")
        self.resize(width, height)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def resize(self, width, height, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def dark(self, dark):
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path):
        """Opens a file and waits until its program has run; returns how long that took, in seconds."""
        begun = time.monotonic()
        self.send("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.is_ready():
            if time.monotonic() - begun > 30:
                raise RuntimeError(f"{path}: not ready after 30 s; {self.problems()}")
            time.sleep(0.01)
        return time.monotonic() - begun

    def is_ready(self):
        try:
            return self.run("document.documentElement?.dataset.ready") == "yes"
        except RuntimeError:
            return False  # between two documents

    def run(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def key(self, key, code=None):
        for kind in ["keyDown", "keyUp"]:
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key)

    def click(self, x, y):
        for kind in ["mousePressed", "mouseReleased"]:
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def problems(self):
        """Errors and warnings of the console, exceptions, files that were asked for and not found."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str([argument.get("value") for argument in parameters["args"]]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def screenshot(self, path, whole=True):
        parameters = {"format": "png"}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            height = min(size["height"], 4000)
            parameters["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
            parameters["captureBeyondViewport"] = True
        data = base64.b64decode(self.send("Page.captureScreenshot", **parameters)["data"])
        with open(path, "wb") as file:
            file.write(data)
        return len(data)

    def pdf(self, path):
        data = base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
        with open(path, "wb") as file:
            file.write(data)
        return len(data)

    def close(self):
        self.browser.send("Target.closeTarget", targetId=self.target)
