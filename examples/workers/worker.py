#!/usr/bin/env python3
"""A worker for Turnwise, with nothing but Python's standard library.

    python3 worker.py --url http://127.0.0.1:7700 --token-file turnwise-data/token

Put your own functions into HANDLERS, one for each kind. A handler gets a Job and returns its result. Any exception is a
failed attempt that is tried again as the kind's rules say; Never and Later say something else.
"""

import argparse
import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request


class Never(Exception):
    """It failed, and another attempt cannot mend it."""


class Later(Exception):
    """It is no failure, it only goes on later."""

    def __init__(self, seconds):
        super().__init__(f"goes on in {seconds} s")
        self.seconds = seconds


class Stopped(Exception):
    """The job should stop: it was cancelled, it took too long, or it is not this worker's any more."""


class Refused(Exception):
    """The server said no."""

    def __init__(self, status, problem):
        super().__init__(problem.get("detail", f"status {status}"))
        self.status = status
        self.code = problem.get("code")


# What this worker can do.


def shout(job):
    return {"text": job.payload["text"].upper()}


def count(job):
    # A step is done once: a later attempt gets what it gave from the store.
    words = job.step("split", lambda: job.payload["text"].split())
    if job.payload.get("stumble") and job.attempt == 1:
        raise RuntimeError("stumbled after the first step")
    return {"words": len(words), "attempt": job.attempt}


def nap(job):
    seconds = job.payload["seconds"]
    for second in range(seconds):
        job.progress(second / seconds, f"{seconds - second} s to go")
        job.rest(1)
    return {"slept": seconds}


HANDLERS = {"shout": shout, "count": count, "nap": nap}


class Server:
    """Requests to one Turnwise server."""

    def __init__(self, url, token):
        self.url = url.rstrip("/")
        self.token = token

    def ask(self, method, path, body=None, timeout=60):
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            try:
                problem = json.loads(error.read())
            except ValueError:
                problem = {}
            raise Refused(error.code, problem) from None
        except http.client.HTTPException as error:
            raise OSError(f"the answer broke off: {error!r}") from None


class Job:
    """A job that this worker holds."""

    def __init__(self, life, claimed):
        self.life = life
        self.id = claimed["id"]
        self.fence = claimed["fence"]
        self.kind = claimed["kind"]
        self.owner = claimed["owner"]
        self.attempt = claimed["attempt"]
        self.payload = claimed["payload"]
        self.steps = claimed["steps"]
        self.stop = threading.Event()

    def tell(self, verb, **said):
        """Says something about the job. Whoever says it again after a lost answer is understood."""
        path = f"/jobs/{self.id}/{verb}"
        self.life.tell(path, {"fence": self.fence, **said})

    def progress(self, fraction, note=""):
        self.tell("progress", fraction=fraction, note=note)

    def step(self, name, work):
        if name not in self.steps:
            output = work()
            self.tell("step", name=name, output=output)
            self.steps[name] = output
        return self.steps[name]

    def rest(self, seconds):
        """Waits, unless the job should stop."""
        if self.stop.wait(seconds):
            raise Stopped()


class Life:
    """One registration of this worker. When it was lost, another begins."""

    def __init__(self, server, name, slots, session_ms):
        self.server = server
        new = {"name": name, "kinds": list(HANDLERS), "slots": slots, "session_ms": session_ms}
        sent = time.monotonic()
        answer = server.ask("POST", "/api/v1/workers", new)
        self.path = "/api/v1/workers/" + answer["worker"]
        self.session = answer["session_ms"] / 1000
        self.slots = slots
        self.heard = sent
        self.lost = threading.Event()
        self.jobs = {}
        self.free = threading.Condition()
        print(f"registered as {name}", flush=True)
        threading.Thread(target=self.beat, daemon=True).start()

    def ask(self, path, body, timeout=60):
        """One request. What is trusted is counted from before it was sent."""
        sent = time.monotonic()
        try:
            answer = self.server.ask("POST", self.path + path, body, timeout)
        except Refused as refused:
            if refused.code == "unknown_worker":
                self.lose()
            raise
        self.heard = max(self.heard, sent)
        return answer

    def tell(self, path, body):
        """One request that must arrive: it is sent again until it is answered, or until this life is over."""
        while not self.lost.is_set():
            try:
                return self.ask(path, body)
            except Refused as refused:
                if refused.status < 500 and refused.status != 429:
                    raise
            except OSError:
                pass
            self.lost.wait(0.5)
        raise Stopped()

    def lose(self):
        """The server has given the jobs to others, or will."""
        self.lost.set()
        with self.free:
            for job in self.jobs.values():
                job.stop.set()
            self.free.notify_all()

    def beat(self):
        while not self.lost.wait(self.session / 4):
            try:
                for recalled in self.ask("/heartbeat", {}, self.session / 4)["recalled"]:
                    with self.free:
                        job = self.jobs.get(recalled["id"])
                    if job and job.fence == recalled["fence"]:
                        job.stop.set()
            except (Refused, OSError) as error:
                print(f"no heartbeat: {error}", flush=True)
            if time.monotonic() - self.heard > self.session:
                self.lose()

    def work(self):
        """Claims jobs and starts them, until this life is over."""
        while not self.lost.is_set():
            with self.free:
                self.free.wait_for(lambda: len(self.jobs) < self.slots or self.lost.is_set())
                held = list(self.jobs)
            wanted = {"max": self.slots - len(held), "wait_ms": 20000, "held": held}
            try:
                claimed = self.ask("/claim", wanted)["jobs"]
            except (Refused, OSError) as error:
                print(f"no claim: {error}", flush=True)
                self.lost.wait(1)
                continue
            for job in claimed:
                job = Job(self, job)
                with self.free:
                    self.jobs[job.id] = job
                threading.Thread(target=self.run, args=[job], daemon=True).start()

    def run(self, job):
        print(f"begins {job.kind} {job.id} attempt {job.attempt} fence {job.fence}", flush=True)
        try:
            self.answer(job)
            print(f"ended {job.id}", flush=True)
        except (Refused, Stopped) as gone:
            print(f"dropped {job.id}: {gone}", flush=True)
        finally:
            # Only now: until its end was answered, the job is held.
            with self.free:
                if self.jobs.get(job.id) is job:
                    del self.jobs[job.id]
                self.free.notify_all()

    def answer(self, job):
        try:
            result = HANDLERS[job.kind](job)
        except Stopped:
            # A cancelled job ends with this; any other is not ours, and refuses it.
            return job.tell("release")
        except Later as later:
            return job.tell("snooze", for_ms=int(later.seconds * 1000))
        except Never as error:
            return job.tell("fail", error=str(error), **{"class": "never"})
        except Refused:
            raise
        except Exception as error:
            return job.tell("fail", error=f"{type(error).__name__}: {error}")
        return job.tell("complete", result=result)

    def leave(self):
        """What is held is given back without burning an attempt."""
        try:
            self.server.ask("DELETE", self.path, timeout=10)
            print("left", flush=True)
        except (Refused, OSError) as error:
            print(f"no farewell: {error}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description="A worker for Turnwise.")
    arguments.add_argument("--url", default="http://127.0.0.1:7700")
    arguments.add_argument("--token-file", default="turnwise-data/token")
    arguments.add_argument("--name", default=f"python-{os.getpid()}")
    arguments.add_argument("--slots", type=int, default=4)
    arguments.add_argument("--session-ms", type=int, default=30000)
    chosen = arguments.parse_args()
    with open(chosen.token_file, encoding="utf-8") as file:
        server = Server(chosen.url, file.read().strip())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        try:
            life = Life(server, chosen.name, chosen.slots, chosen.session_ms)
        except OSError as error:
            print(f"no server: {error}", flush=True)
            time.sleep(1)
            continue
        except Refused as refused:
            if refused.status < 500 and refused.status != 429:
                sys.exit(f"cannot register: {refused}")
            time.sleep(1)
            continue
        try:
            life.work()
        finally:
            if not life.lost.is_set():
                life.leave()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
