"""What fault runs stand on: a private PostgreSQL, the APNs peer, gateways, and a chat backend that keeps its own books.

Only the standard library; it shares no code with livepush. Everything it starts ends with this process, however that
ends: each child asks the kernel for a signal at its parent's death (setpriv --pdeathsig).
"""
import asyncio
import glob
import json
import logging
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SDK_APP_ID = 1400000000
SECRET_KEY = "0123456789abcdef" * 4
PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apns_peer.py")
# Refusals that say: repeat this later.
RETRYABLE = (20004, 60007)
# It would report every write to a gateway that was just killed.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)


class Failed(Exception):
    """Something came out otherwise than it must."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def bound(words, death="KILL"):
    """The command, with a signal for the death of this process."""
    return ["setpriv", "--pdeathsig", death, "--"] + words


def succeed(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Failed("%s: %s" % (" ".join(words[:3]), done.stderr.strip()))
    return done.stdout.strip()


async def eventually(condition, seconds, interval=0.05):
    """Whether the condition (a function or a coroutine function) becomes true in time."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer:
            return True
        if time.monotonic() > end:
            return False
        await asyncio.sleep(interval)


async def exchange(port, method, target, body=None, headers=(), timeout=30):
    """One request on a connection of its own. Returns status, header fields (names in lower case) and body."""
    async def talk():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            write_request(writer, method, target, body, list(headers) + [("Connection", "close")])
            return await read_answer(reader)
        finally:
            writer.close()

    return await asyncio.wait_for(talk(), timeout)


def write_request(writer, method, target, body, headers=()):
    lines = ["%s %s HTTP/1.1" % (method, target), "Host: 127.0.0.1"] + ["%s: %s" % field for field in headers]
    data = b"" if body is None else body.encode()
    if body is not None:
        lines += ["Content-Type: application/json", "Content-Length: %d" % len(data)]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)


async def read_answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {}
    for line in head[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    data = await reader.readexactly(int(fields.get("content-length", 0)))
    return int(head[0].split(" ")[1]), fields, data


class Postgres:
    """A cluster in a folder of its own."""

    def __init__(self, folder):
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.folder = os.path.join(folder, "postgres")
        self.port = free_port()
        self.process = None
        os.mkdir(self.folder, 0o700)
        self.user = []
        if os.geteuid() == 0:
            # The server refuses to run as root.
            shutil.chown(self.folder, "postgres", "postgres")
            self.user = ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        succeed(
            ["setpriv"] + self.user + ["--", self.programs + "/initdb", "-D", self.folder + "/data", "-U", "postgres",
             "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"], cwd=self.folder
        )

    def start(self):
        for _ in range(50):
            log = open(os.path.join(os.path.dirname(self.folder), "postgres.log"), "a")
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "INT"] + self.user
                + ["--", self.programs + "/postgres", "-D", self.folder + "/data", "-p", str(self.port),
                   "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + self.folder, "-c", "max_connections=200", "-c", "full_page_writes=off", "-c", "fsync=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
            )
            while self.process.poll() is None:
                ready = subprocess.run(
                    [self.programs + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
                )
                if ready.returncode == 0:
                    return
                time.sleep(0.05)
            # After an immediate stop the last of its sessions may still hold the shared memory.
            time.sleep(0.2)
        raise Failed("PostgreSQL does not start")

    def stop(self, mode):
        """Stops it as `pg_ctl stop -m` does."""
        self.process.send_signal({"immediate": signal.SIGQUIT, "fast": signal.SIGINT}[mode])
        self.process.wait()

    def set(self, name, value):
        """Changes a setting for all sessions."""
        self.sql("ALTER SYSTEM SET %s = %s" % (name, value))
        self.sql("SELECT pg_reload_conf()")

    def url(self, user="postgres"):
        return "postgres://%s@127.0.0.1:%d/postgres" % (user, self.port)

    def sql(self, text):
        return succeed(
            [self.programs + "/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, self.url()]
        )


class Gateway:
    """One `livepush serve`, started again and again on the same port."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.port = free_port()
        self.process = None
        self.log = os.path.join(fleet.folder, name + ".log")

    def start(self, more=()):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                bound([self.fleet.livepush, "serve", "--listen", "127.0.0.1:%d" % self.port]
                      + self.fleet.flags + list(more)),
                env=dict(self.fleet.environment, LIVEPUSH_DATABASE_URL=self.fleet.postgres.url("gateway_login")),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    async def ready(self):
        try:
            return (await exchange(self.port, "GET", "/readyz", timeout=2))[0] == 200
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            return False

    async def wait_ready(self, seconds=30):
        if not await eventually(self.ready, seconds):
            raise Failed("%s is not ready: %s" % (self.name, self.tail()))

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def memory(self, field="VmHWM"):
        """Its memory in MB: VmHWM is the most it ever had resident, VmRSS what it has now."""
        with open("/proc/%d/status" % self.process.pid) as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) / 1024
        return 0

    def has_socket(self, inode):
        folder = "/proc/%d/fd" % self.process.pid
        try:
            return any(os.readlink(folder + "/" + name) == "socket:[%s]" % inode for name in os.listdir(folder))
        except OSError:
            return False

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def lines(self):
        with open(self.log) as log:
            for line in log:
                try:
                    yield json.loads(line)
                except ValueError:
                    yield {"level": "crash", "message": line.rstrip()}

    def instances(self):
        """The ids under which it was registered, one after the other."""
        return [line["instance"] for line in self.lines() if line["message"] == "instance registered"]

    def tail(self):
        with open(self.log) as log:
            return "".join(log.readlines()[-6:])


class Fleet:
    """Everything that a run needs."""

    def __init__(self, livepush, gateways, flags=(), seed=0, streams=1000):
        self.livepush = os.path.abspath(livepush)
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="livepush-faults-")
        os.chmod(self.folder, 0o755)
        self.peer = None
        self.postgres = Postgres(self.folder)
        self.postgres.start()
        self.environment = dict(
            os.environ, LIVEPUSH_DATABASE_URL=self.postgres.url(),
            LIVEPUSH_MASTER_KEY=succeed(["openssl", "rand", "-base64", "32"]),
        )
        key = os.path.join(self.folder, "AuthKey_ABCDE12345.p8")
        succeed(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key])
        with open(os.path.join(self.folder, "secret-key"), "w") as file:
            file.write(SECRET_KEY)
        self.peer = subprocess.Popen(
            bound(["/usr/bin/python3", PEER, "--directory", self.folder, "--streams", str(streams),
                   "--key", "ABCDE12345:TEAM123456:%s:com.ex.app" % key]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(os.path.join(self.folder, "peer.log"), "w"),
            text=True,
        )
        self.command("migrate")
        self.postgres.sql("CREATE ROLE gateway_login LOGIN IN ROLE livepush_gateway")
        app = ("--sdk-app-id", str(SDK_APP_ID))
        self.command("app", "add", *app, "--secret-key-file", self.folder + "/secret-key", "--admin", "administrator")
        self.command(
            "certificate", "add", *app, "--business-id", "1", "--bundle-id", "com.ex.app", "--team-id", "TEAM123456",
            "--key-id", "ABCDE12345", "--key-file", key, "--environment", "sandbox",
        )
        self.user_sig = self.command("usersig", *app, "--identifier", "administrator")
        ports = json.loads(self.peer.stdout.readline())
        self.control = ports["control"]
        self.flags = [
            "--lanes", "1", "--apns-production", "https://localhost:%d" % ports["production"],
            "--apns-sandbox", "https://localhost:%d" % ports["sandbox"], "--apns-ca-file", ports["ca"],
            "--poll-interval", "0.1",
        ] + list(flags)
        self.gateways = [Gateway(self, "gateway-%d" % (number + 1)) for number in range(gateways)]

    def command(self, *words):
        return succeed([self.livepush] + list(words), env=self.environment)

    async def start(self):
        for gateway in self.gateways:
            gateway.start()
        for gateway in self.gateways:
            await gateway.wait_ready()

    def close(self):
        for gateway in self.gateways:
            if gateway.process is not None and gateway.process.poll() is None:
                gateway.send(signal.SIGCONT)
                gateway.kill()
        if self.peer is not None:
            self.peer.kill()
            self.peer.wait()
        if self.postgres.process is not None and self.postgres.process.poll() is None:
            self.postgres.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- APNs

    async def behave(self, behaviours):
        await self.tell("/behaviours", behaviours)

    async def settings(self, streams):
        await self.tell("/settings", {"streams": streams})

    async def tell(self, path, body):
        # A busy peer takes its time.
        await exchange(self.control, "POST", path, json.dumps(body), timeout=120)

    async def pushes(self, after, count=0, seconds=0):
        """What arrived at APNs after push number `after`, at once or when there are `count` of them."""
        return (await self.arrivals(after, count, seconds))["requests"]

    async def arrivals(self, after, count=0, seconds=0):
        """The same, and "connections"."""
        target = "/requests?after=%d&count=%d&wait=%d" % (after, count, seconds)
        _, _, data = await exchange(self.control, "GET", target, timeout=120 + seconds)
        return json.loads(data)

    def owner_of(self, port):
        """The gateway that has a connection from this local port; None if it is gone."""
        inode = None
        with open("/proc/net/tcp") as table:
            for line in table:
                words = line.split()
                if words[1].endswith(":%04X" % port) and words[3] == "01":
                    inode = words[9]
        for gateway in self.gateways:
            if gateway.has_socket(inode):
                return gateway
        return None

    # --- The database

    def pending(self):
        return int(self.postgres.sql("SELECT count(*) FROM pending"))

    async def wait_empty(self, seconds):
        if not await eventually(lambda: self.pending() == 0, seconds, 0.2):
            left = self.postgres.sql(
                "SELECT message_id, account, instance_id, takeovers, attempts, reason, "
                "CASE WHEN due < 'infinity' THEN due - now() END FROM pending LIMIT 10"
            )
            raise Failed("%d rows still wait after %s s:\n%s" % (self.pending(), seconds, left))

    def logged(self, message):
        """How often any gateway logged this."""
        return sum(1 for gateway in self.gateways for line in gateway.lines() if line.get("message") == message)

    def taken_over(self):
        """The ids of instances that were declared dead by others."""
        return [
            line["instance"] for gateway in self.gateways for line in gateway.lines()
            if line["message"] == "took over a dead instance"
        ]

    def rows_taken_over(self):
        return sum(
            line["rows"] for gateway in self.gateways for line in gateway.lines()
            if line["message"] == "took over a dead instance"
        )

    def crashes(self):
        """Lines of the logs that no logger wrote: what a trap leaves."""
        return [
            gateway.name + ": " + line["message"]
            for gateway in self.gateways for line in gateway.lines()
            # libpq writes this itself when a session ends while it is being opened.
            if line["level"] == "crash" and not line["message"].startswith("FATAL: ")
        ]


class Balancer:
    """A reverse proxy on a port of its own: a request goes to one of the gateways whose /readyz answered 200 when it was
    asked last, and never to a second one."""

    name = "balancer"

    def __init__(self, fleet):
        self.fleet = fleet
        self.ready = []
        self.idle = {}
        self.port = None
        self.is_closed = False

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.watching = [asyncio.ensure_future(self.watch(gateway)) for gateway in self.fleet.gateways]

    def close(self):
        # Not by cancelling: wait_for can lose that where what it waits for ends at the same moment.
        self.is_closed = True

    async def watch(self, gateway):
        while not self.is_closed:
            is_ready = gateway.process is not None and await gateway.ready()
            if is_ready != (gateway in self.ready):
                self.ready.append(gateway) if is_ready else self.ready.remove(gateway)
            await asyncio.sleep(0.1)

    async def serve(self, reader, writer):
        try:
            while True:
                head, body = await read_message(reader)
                answer, is_kept = await self.forward(head + body)
                writer.write(answer)
                if not is_kept:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def forward(self, request):
        """Returns the bytes of the answer, and whether its connection stays open."""
        try:
            gateway = self.fleet.random.choice(self.ready)
            idle = self.idle.setdefault(gateway.port, [])
            idle[:] = [entry for entry in idle if not entry[0].at_eof() and not entry[1].is_closing()]
            reader, writer = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(request)
            head, body = await read_message(reader)
        except (IndexError, OSError, asyncio.IncompleteReadError) as error:
            body = json.dumps({"balancer": repr(error), "ready": [gateway.name for gateway in self.ready]}).encode()
            return b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body), True
        is_kept = b"\r\nconnection: close" not in head.lower()
        if is_kept:
            idle.append((reader, writer))
        else:
            writer.close()
        return head + body, is_kept


async def read_message(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return head, await reader.readexactly(int(length.group(1))) if length else b""


class Request:
    """A message as the backend remembers it."""

    def __init__(self, number, recipients, activity=None):
        self.number, self.recipients, self.activity = number, recipients, activity
        self.ok_at = self.key = None
        self.attempts = 0

    @property
    def path(self):
        return "/v4/openim/" + ("sendmsg" if len(self.recipients) == 1 else "batchsendmsg")

    @property
    def body(self):
        push = {"Title": "message %d" % self.number, "Desc": "text"}
        if self.activity is not None:
            push["ApnsInfo"] = {
                "LiveActivity": {"LaId": self.activity, "Event": "update", "ContentState": {"number": self.number}}
            }
        return json.dumps({
            "To_Account": self.recipients if len(self.recipients) > 1 else self.recipients[0],
            "MsgRandom": self.number,
            "MsgBody": [{"MsgType": "TIMTextElem", "MsgContent": {"Text": "text"}}],
            "OfflinePushInfo": push,
        })


class Backend:
    """A chat backend: it posts messages through whichever gateway, repeats some that failed, and remembers each OK."""

    def __init__(self, fleet, accounts=40, activities=6, balancer=None):
        self.fleet, self.random = fleet, fleet.random
        # With a balancer in front no request may fail.
        self.balancer = balancer
        self.tokens = {"account-%d" % number: secrets.token_hex(32) for number in range(accounts)}
        self.accounts = list(self.tokens)
        self.activities = {"order-%d" % number: secrets.token_hex(80) for number in range(activities)}
        self.requests = {}
        self.connections = {}
        self.faults = []
        self.refusals = {}
        self.unknown = 0
        self.is_running = True
        self.tasks = []
        # What arrived at APNs: for each request and token its ids and how often it was accepted; for each activity's
        # token the states, as timestamp, time and number.
        self.arrived = {}
        self.states = {}
        # For each request and token when its pushes came, and by which connection.
        self.sightings = {}
        self.arrivals = 0
        # The last state that was posted of each activity.
        self.last_states = {}
        # On which connections it arrived.
        self.connections_used = set()

    # --- Phones

    async def register(self):
        async def put(target, body):
            status, _, data = await self.phone(self.fleet.gateways[0], target, body)
            if status != 200:
                raise Failed("PUT %s answered %d %s" % (target, status, data))

        for account, token in self.tokens.items():
            await put("/v1/devices/phone-%s?account=%s" % (account, account), {"token": token, "businessId": 1})
        for name, token in self.activities.items():
            account = self.holder(name)
            await put(
                "/v1/activities/%s?account=%s" % (name, account),
                {"token": token, "businessId": 1, "installation": "phone-" + account},
            )

    def holder(self, activity):
        return "account-%d" % (int(activity.split("-")[1]) % len(self.accounts))

    async def phone(self, gateway, target, body):
        headers = [("Authorization", "Bearer " + self.fleet.user_sig)]
        return await exchange(gateway.port, "PUT", target, json.dumps(body), headers)

    # --- Load

    def start(self, workers=6, pause=0.04):
        """Begins to post: notifications, single and to several, and one sequence of states for each activity."""
        for number in range(workers):
            self.tasks.append(asyncio.ensure_future(self.post_notifications(pause)))
        for name in self.activities:
            self.tasks.append(asyncio.ensure_future(self.post_states(name, pause * 6)))

    async def stop(self):
        self.is_running = False
        await asyncio.gather(*self.tasks)
        self.tasks = []

    def make(self, recipients, activity=None):
        request = Request(len(self.requests) + 1, recipients, activity)
        self.requests[request.number] = request
        return request

    async def post_notifications(self, pause):
        while self.is_running:
            count = 1 if self.random.random() < 0.7 else self.random.randint(2, 12)
            await self.post(self.make(self.random.sample(self.accounts, count)))
            await asyncio.sleep(self.random.uniform(0, 2 * pause))

    async def post_states(self, name, pause):
        while self.is_running:
            await self.post(self.make([self.holder(name)], name))
            await asyncio.sleep(self.random.uniform(0, 2 * pause))

    async def post(self, request, repeats=None):
        """Posts a message; one that failed is repeated now and then, the very same, as a backend does."""
        if repeats is None:
            repeats = self.random.choice((0, 0, 2, 6))
        while True:
            if await self.attempt(request) or request.attempts > repeats:
                return request.ok_at is not None
            await asyncio.sleep(self.random.uniform(0.1, 0.4))

    async def attempt(self, request, gateway=None):
        request.attempts += 1
        gateway = gateway or self.balancer or self.random.choice(self.fleet.gateways)
        query = "sdkappid=%d&identifier=administrator&usersig=%s&random=%d&contenttype=json" % (
            SDK_APP_ID, self.fleet.user_sig, request.number,
        )
        try:
            status, fields, data = await asyncio.wait_for(
                self.talk(gateway, request.path + "?" + query, request.body), 8
            )
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
            self.unknown += 1
            if self.balancer:
                self.faults.append("request %d: %r" % (request.number, error))
            return False
        answer = json.loads(data)
        if status == 200 and answer["ActionStatus"] == "OK":
            request.ok_at, request.key = time.time(), answer["MsgKey"]
            return True
        code = answer.get("ErrorCode")
        self.refusals[code] = self.refusals.get(code, 0) + 1
        if status != 200 or code not in RETRYABLE or not fields.get("retry-after", "").isdigit() or self.balancer:
            self.faults.append("request %d was answered %d %s %s" % (request.number, status, fields, data))
        return False

    async def talk(self, gateway, target, body):
        """A request on a connection that was used before where there is one that the gateway left open."""
        idle = self.connections.setdefault(gateway.port, [])
        connection = None
        while idle and connection is None:
            reader, writer = idle.pop()
            if reader.at_eof() or writer.is_closing():
                writer.close()
            else:
                connection = reader, writer
        reader, writer = connection or await asyncio.open_connection("127.0.0.1", gateway.port)
        is_kept = False
        try:
            write_request(writer, "POST", target, body)
            answer = await read_answer(reader)
            is_kept = answer[1].get("connection", "").lower() != "close"
            return answer
        finally:
            if is_kept:
                idle.append((reader, writer))
            else:
                writer.close()

    async def finish(self, seconds=40):
        """Ends the load, posts a last state for each activity, and waits until nothing waits any more."""
        await self.stop()
        for name in self.activities:
            request = self.make([self.holder(name)], name)
            end = time.monotonic() + 60
            while not await self.attempt(request):
                if time.monotonic() > end:
                    raise Failed("a message was not accepted within 60 s after the last fault")
                await asyncio.sleep(0.2)
            self.last_states[name] = request.number
        collecting = asyncio.ensure_future(self.collect_often())
        try:
            await self.fleet.wait_empty(seconds)
        finally:
            collecting.cancel()

    # --- The books

    async def collect(self):
        """Reads what arrived at APNs since the last time, and lets the peer forget it."""
        pushes = await self.fleet.pushes(self.arrivals)
        for push in pushes:
            # The peer numbers them without gaps.
            self.arrivals += 1
            self.connections_used.add(push["connection"])
            if push["problems"]:
                self.faults.append("problems of a push: %s" % push["problems"])
            aps = json.loads(push["text"])["aps"]
            is_state = push["pushType"] == "liveactivity"
            number = aps["content-state"]["number"] if is_state else int(aps["alert"]["title"].split(" ")[1])
            identity = push["fields"].get("apns-id"), push["fields"].get("apns-collapse-id")
            entry = self.arrived.setdefault((number, push["token"]), [identity, 0])
            if entry[0] != identity:
                self.faults.append("request %d went out twice, as %s and %s" % (number, entry[0], identity))
            if number not in self.requests:
                self.faults.append("nobody asked for push %d" % number)
            self.sightings.setdefault((number, push["token"]), []).append((push["received"], push["connection"]))
            if push["status"] == 200:
                entry[1] += 1
                if is_state:
                    self.states.setdefault(push["token"], []).append((aps["timestamp"], push["received"], number))
        await self.fleet.tell("/forget", {"through": self.arrivals})

    async def collect_often(self):
        while True:
            await self.collect()
            await asyncio.sleep(5)

    def stands_for(self, request, _, received, number):
        """Whether a state that arrived is the one of the request, or one that was accepted after it: those of an
        activity are posted one after the other, and only one that was not answered OK can be accepted later than that."""
        if number >= request.number:
            return True
        return self.requests[number].ok_at is None and received > request.ok_at

    async def compare(self, exactly_once=False, apart_from=()):
        """Compares the list of OK answers with the list of what arrived at APNs, apart from some requests. Returns
        figures, or raises."""
        await self.collect()
        faults = list(self.faults)
        for (number, _), (_, accepted) in self.arrived.items():
            if exactly_once and accepted != 1:
                faults.append("request %d was taken %d times by APNs" % (number, accepted))
        # A person asks why a phone showed it twice: the row says so.
        told = set(self.fleet.postgres.sql(
            "SELECT apns_id FROM delivery WHERE answers_lost > 0 OR outcome = 'quarantined'"
        ).split())
        for (number, _), ((apns_id, _), accepted) in self.arrived.items():
            if accepted > 1 and apns_id.lower() not in told:
                faults.append("request %d was taken %d times, and no row says that it may have been" % (number, accepted))
        for request in self.requests.values():
            if request.ok_at is None or request in apart_from:
                continue
            if request.activity is None:
                faults += [
                    "accepted and lost: message %d to %s" % (request.number, account)
                    for account in request.recipients
                    if self.arrived.get((request.number, self.tokens[account]), (None, 0))[1] == 0
                ]
                continue
            if not any(self.stands_for(request, *state) for state in self.states.get(self.activities[request.activity], [])):
                faults.append("accepted and lost: state %d, and none after it" % request.number)
        for name, number in self.last_states.items():
            if max(self.states.get(self.activities[name], [(0, 0, None)]))[2] != number:
                faults.append("the newest state that %s shows is not the last one" % name)
        faults += self.fleet.crashes()
        figures = {
            "requests": len(self.requests), "ok": sum(1 for request in self.requests.values() if request.ok_at),
            "refused": self.refusals, "without answer": self.unknown, "pushes": self.arrivals,
            "sent again after APNs took it": sum(max(0, accepted - 1) for _, accepted in self.arrived.values()),
        }
        if faults:
            # What is lost first.
            faults.sort()
            logs = ["%s:\n%s" % (gateway.name, gateway.tail()) for gateway in self.fleet.gateways]
            outcomes = self.fleet.postgres.sql(
                "SELECT outcome, route, route_reason, apns_status, apns_reason, count(*) FROM delivery GROUP BY 1, 2, 3, 4, 5"
            )
            raise Failed("%s\n%s" % (figures, "\n".join(faults[:20] + logs + [outcomes])))
        return figures
