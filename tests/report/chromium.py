"""Drives a headless Chromium over its debugging pipe (file descriptors 3 and 4, messages ended by a zero byte)."""

import base64
import json
import os
import subprocess


class Chromium:
    def __init__(self, program, profile):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def connect():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        # Duplicates above 4 first, so that dup2 overwrites neither end.
        to_read, to_write = (os.dup(os.dup(os.dup(fd))) for fd in (to_read, to_write))
        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._next = 0
        self._rest = b""
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def _receive(self):
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("the browser is gone")
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event):
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._receive())

    def show(self, url, width, height, dark):
        """Loads the page at that width, as a reader with a light or dark system sees it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        return [e["params"] for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def close(self):
        self._session = None
        self.call("Browser.close")
        self._process.wait(timeout=30)
