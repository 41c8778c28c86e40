#!/usr/bin/env python3
"""Times a scan of many documents, and another one after some have changed, step by step, as docs/performance.md has them.

usage: rescan.py [--documents 2000000] [--changed 0.01] [--memory-budget 512MiB] [--limits MIB MIB] [--trees FOLDER FOLDER] FOLDER [OPTIONS OF THE SCAN ...]

Writes generated documents of 0.7 to 2.9 kB for two sites below FOLDER, three of ten an edited copy of another one, from a seed; starts a
coordinator and two workers on loopback (the program of the variable COGNATE, or of the path) and launches a scan. Then a part of the documents
is edited, removed or added, and the same scan is launched again. A step ends where the coordinator logs it with `--log-level info`; of each step
are printed its seconds, the processor seconds of coordinator and workers, and what the coordinator has read and written. FOLDER must not be
there yet; it takes 5 kB a document. With `--keep` it stays, and so do the daemons until the input ends. With `--trees` the sites have these
folders, and there is one scan. With `--limits` the coordinator is in a control group of so many MiB of memory, its share of the page cache included,
and each worker in one of its own with the second number; 0 is no limit (root alone may make control groups).
"""
import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time

HERTZ = os.sysconf("SC_CLK_TCK")
SITES = ("paris", "tokyo")


def path_of(folder, number):
    return f"{folder}/{SITES[number % 2]}/{number // 100_000:03}/{number // 1000 % 100:02}/{number:08}.txt"


def line(chance):
    return chance.randbytes(36).hex()


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("\n".join(lines))


def make(folder, documents):
    chance = random.Random(21)
    recent = []
    for number in range(documents):
        if number % 10 >= 7:
            lines = list(chance.choice(recent))
            lines[chance.randrange(len(lines))] = line(chance)
        else:
            lines = [line(chance) for _ in range(chance.randint(10, 40))]
            recent = recent[-999:] + [lines]
        write(path_of(folder, number), lines)


def change(folder, documents, count):
    """Edits a third of so many documents, removes a third, and adds as many as it removes."""
    chance = random.Random(22)
    chosen = chance.sample(range(documents), count * 2 // 3)
    for number in chosen[: count // 3]:
        with open(path_of(folder, number)) as file:
            lines = file.read().split("\n")
        lines[chance.randrange(len(lines))] = line(chance)
        write(path_of(folder, number), lines)
    for number in chosen[count // 3 :]:
        os.remove(path_of(folder, number))
    for number in range(documents, documents + count - len(chosen)):
        write(path_of(folder, number), [line(chance) for _ in range(chance.randint(10, 40))])


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports


def control_group(name, limit):
    """A new control group for memory: the file into which a process writes its number."""
    for folder, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = f"{folder}/cognate-{name}-{os.getpid()}"
        if os.path.isdir(folder):
            os.makedirs(group)
            if os.path.exists(f"{group}/{file}"):
                with open(f"{group}/{file}", "w") as limits:
                    limits.write(str(limit << 20))
                return f"{group}/cgroup.procs"
            os.rmdir(group)
    sys.exit("there are no control groups for memory")


class Federation:
    def __init__(self, binary, folder, budget, trees, limits):
        self.binary, self.folder, self.processes, self.limits, self.memory = binary, folder, {}, limits, {}
        hub = f"{folder}/coordinator.toml"
        port, http = free_ports(2)
        with open(hub, "w") as file:
            file.write(
                f'state_dir = "{folder}/hub"\nlisten = "127.0.0.1:{port}"\nhttp_listen = "127.0.0.1:{http}"\nnames = ["127.0.0.1"]\n'
                f'memory_budget = "{budget}"\nsite_documents = 20000000\nsite_contents = 20000000\nsite_names = "4GiB"\n'
            )
        self.run("coordinator", "init", "--config", hub)
        os.environ["COGNATE_OPERATOR"] = f"{folder}/hub/operator.toml"
        self.start("coordinator", hub)
        for site, tree in zip(SITES, trees):
            config = f"{folder}/{site}.toml"
            with open(config, "w") as file:
                file.write(f'state_dir = "{folder}/state-{site}"\none_party = true\n[[repository]]\nname = "kb"\npath = "{tree}"\n')
            self.run("worker", "enroll", "-", "--config", config, input=self.run("site", "invite", site))
            self.start(site, config, "worker")

    def run(self, *arguments, **options):
        return subprocess.run([self.binary, *arguments], check=True, capture_output=True, text=True, **options).stdout

    def start(self, name, config, kind="coordinator"):
        log = open(f"{self.folder}/{name}.log", "w")
        command = [self.binary, kind, "run", "--config", config, "--log-level", "info"]
        limit = self.limits and self.limits[kind != "coordinator"]
        if limit:
            group = control_group(name, limit)
            command = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', group, *command]
        self.processes[name] = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        while subprocess.run([self.binary, kind, "health", "--config", config], capture_output=True).returncode:
            if self.processes[name].poll() is not None:
                sys.exit(f"{name} does not run: {self.folder}/{name}.log")
            time.sleep(0.2)

    def used(self, name):
        """Processor seconds, and bytes that were read and written by calls."""
        pid = self.processes[name].pid
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/io") as file:
            io = dict(text.split(": ") for text in file.read().splitlines())
        return sum(int(word) for word in words[11:15]) / HERTZ, int(io["rchar"]), int(io["wchar"])

    def sample(self):
        hub = self.used("coordinator")
        return time.time(), hub[0], sum(self.used(site)[0] for site in SITES), hub[1], hub[2]

    def watch_memory(self):
        """Keeps the most memory of each process since the last step, in MB: all that is resident, and what is its own alone and in no file."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                sys.exit(f"{name} has ended with {process.returncode}: {self.folder}/{name}.log")
            with open(f"/proc/{process.pid}/status") as file:
                now = {text.split()[0]: int(text.split()[1]) // 1000 for text in file if text.startswith(("VmRSS", "RssAnon"))}
            most = self.memory.get(name, (0, 0))
            self.memory[name] = max(most[0], now["VmRSS:"]), max(most[1], now["RssAnon:"])

    def take_memory(self):
        taken, self.memory = self.memory, {}
        self.most |= {name: tuple(map(max, self.most.get(name, (0, 0)), both)) for name, both in taken.items()}
        return [taken.get("coordinator", (0, 0)), tuple(map(max, *(taken.get(site, (0, 0)) for site in SITES)))]

    def scan(self, title, options):
        with open(f"{self.folder}/coordinator.log") as log:
            log.seek(0, 2)
            last = begun = self.sample()
            repositories = ",".join(f"{site}/kb" for site in SITES)
            launched = subprocess.Popen(
                [self.binary, "scan", "launch", "--repositories", repositories, "--yes", "--wait", *options],
                stdout=subprocess.DEVNULL,
                stderr=open(f"{self.folder}/launch.log", "w"),
            )
            self.most = {}
            print(f"\n{title}\n| step that ends | seconds | coordinator, processor | workers, processor | MB read | MB written |"
                  " MB of memory, without mapped files | of a worker |\n|---|---|---|---|---|---|---|---|")

            def row(what, before, now):
                clock, hub, workers, read, written = (after - earlier for earlier, after in zip(before, now))
                print(f"| {what} | {clock:.1f} | {hub:.1f} | {workers:.1f} | {read / 1e6:.0f} | {written / 1e6:.0f} | "
                      + " | ".join(f"{resident}, {own}" for resident, own in self.take_memory()) + " |", flush=True)

            def lines():
                nonlocal last
                for text in log.read().splitlines():
                    event = json.loads(text)
                    now = self.sample()
                    fields = {key: value for key, value in event["fields"].items() if key not in ("message", "scan")}
                    words = ", ".join(f"{key} {value}" for key, value in fields.items())
                    row(f"{event['fields']['message']}: {words}"[:150], last, now)
                    last = now

            while launched.poll() is None:
                lines()
                self.watch_memory()
                time.sleep(0.05)
            lines()
            self.watch_memory()
            now = self.sample()
            row("all", begun, now)
            if launched.returncode:
                sys.exit(f"the scan failed: {self.folder}/launch.log")
        print(f"greatest resident memory in MB, and without mapped files: {self.most}")
        shown = json.loads(self.run("scan", "show", "latest", "--format", "json"))
        print(f"digest {shown['digest']}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=2_000_000)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--memory-budget", default="512MiB")
    parser.add_argument("--limits", type=int, nargs=2)
    parser.add_argument("--trees", nargs=2)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    folder = os.path.abspath(given.folder)
    os.makedirs(folder)
    begun = time.time()
    if not given.trees:
        make(folder, given.documents)
        print(f"{given.documents} documents were written in {time.time() - begun:.0f} s", flush=True)
    trees = given.trees or [f"{folder}/{site}" for site in SITES]
    federation = Federation(shutil.which(os.environ.get("COGNATE", "cognate")), folder, given.memory_budget, trees, given.limits)
    try:
        federation.scan("The first scan", given.options)
        if not given.trees:
            count = int(given.documents * given.changed)
            change(folder, given.documents, count)
            federation.scan(f"After {count} documents were edited, removed or added", given.options)
        if given.keep:
            print("the end of the input ends it")
            sys.stdin.read()
    finally:
        for process in federation.processes.values():
            process.terminate()
        for process in federation.processes.values():
            process.wait()
    if not given.keep:
        shutil.rmtree(folder)


main()
