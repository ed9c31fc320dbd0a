#!/usr/bin/python3
"""Faults under load: what a gateway may never lose, double or forget, judged by the backend's own books.

    faults.py --livepush PROGRAM [--seed N] SCENARIO[=SIZE] ...

A scenario starts a PostgreSQL, the APNs peer and gateways of its own, lets a backend post messages, breaks something
again and again, and compares at the end what the backend was answered with what arrived at APNs. It prints its seed,
what it does, and figures; the exit status is 0 if everything came out as it must. Several scenarios run at a time, each
in a process of its own. SIZE is a number of rounds, except where the scenario says otherwise.
"""
import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import signal
import socket
import sys
import time

from fleet import SDK_APP_ID, Backend, Balancer, Failed, Fleet, bound, eventually, exchange, read_answer

# A dead instance is noticed within three seconds instead of 28.
QUICK = [
    "--heartbeat-interval", "0.2", "--send-stop-after", "1.5", "--takeover-after", "2.5", "--retry-schedule",
    "0.2,0.4,0.8", "--drain-grace", "1",
]
# Living ones are not taken for dead even on a machine with much else to do.
PATIENT = ["--heartbeat-interval", "0.5", "--send-stop-after", "8", "--takeover-after", "15", "--drain-grace", "1"]


def say(text):
    print("%7.1f s  %s" % (time.monotonic() - began, text), flush=True)


began = time.monotonic()


async def stumble(fleet, backend):
    """APNs takes its time, and answers 503 now and then, or not at all."""
    while backend.is_running:
        await fleet.behave({"*": [
            {"delay": 0.05, "times": fleet.random.randint(3, 20)}, {"status": 503, "times": 2}, {"close": True},
        ]})
        await asyncio.sleep(0.2)


async def kill(arguments):
    """Two gateways; one is killed, or stopped for less or more than it takes the other to take over, at random
    moments."""
    fleet = Fleet(arguments.livepush, 2, QUICK, arguments.seed)
    try:
        await fleet.start()
        backend = Backend(fleet)
        await backend.register()
        backend.start()
        backend.tasks.append(asyncio.ensure_future(stumble(fleet, backend)))
        for number in range(arguments.size):
            await asyncio.sleep(fleet.random.uniform(0, 1))
            victim = fleet.random.choice(fleet.gateways)
            if number % 4 == 3:
                away = fleet.random.uniform(2.7, 4) if number % 8 == 7 else fleet.random.uniform(0.1, 1.4)
                say("round %d: %s stopped for %.1f s" % (number + 1, victim.name, away))
                victim.send(signal.SIGSTOP)
                await asyncio.sleep(away)
                victim.send(signal.SIGCONT)
            else:
                say("round %d: %s killed" % (number + 1, victim.name))
                victim.kill()
                await asyncio.sleep(fleet.random.uniform(0, 0.6))
                victim.start()
            await victim.wait_ready()
        await backend.finish(120)
        figures = await backend.compare()
        figures["rows taken over"] = fleet.rows_taken_over()
        if figures["rows taken over"] < arguments.size:
            raise Failed("the gateways had hardly any work when they were killed: %s" % figures)
        return figures
    finally:
        fleet.close()


async def probe(backend, gateway):
    """While PostgreSQL is away, both APIs say in their own form that the caller should come again."""
    request = backend.make(["account-0"])
    started = time.monotonic()
    await backend.attempt(request, gateway)
    if time.monotonic() - started > 7:
        backend.faults.append("a message took %.1f s to be refused" % (time.monotonic() - started))
    status, fields, data = await backend.phone(
        gateway, "/v1/devices/phone-account-0?account=account-0",
        {"token": backend.tokens["account-0"], "businessId": 1},
    )
    if status != 503 or json.loads(data)["error"]["code"] != "unavailable" or "retry-after" not in fields:
        backend.faults.append("a phone was answered %d %s %s" % (status, fields, data))


async def database(arguments):
    """PostgreSQL is stopped, loses its sessions, or refuses to write, under load: shortly, and for longer than gateways
    may go without a heartbeat and than a takeover takes."""
    flags = [
        "--heartbeat-interval", "0.5", "--send-stop-after", "2", "--takeover-after", "5", "--retry-schedule",
        "0.2,0.4,0.8",
    ]
    fleet = Fleet(arguments.livepush, 2, flags, arguments.seed)
    try:
        await fleet.start()
        backend = Backend(fleet)
        await backend.register()
        processes = [gateway.process.pid for gateway in fleet.gateways]
        backend.start()
        backend.tasks.append(asyncio.ensure_future(stumble(fleet, backend)))
        kinds = [
            ("immediate", True), ("sessions", False), ("read-only", True), ("fast", False), ("sessions", False),
            ("read-only", False), ("fast", True), ("immediate", False),
        ]
        for number in range(arguments.size):
            await asyncio.sleep(fleet.random.uniform(0.3, 1))
            kind, is_long = kinds[number % len(kinds)]
            away = fleet.random.uniform(5.5, 6.5) if is_long else fleet.random.uniform(0.3, 1)
            say("round %d: %s, %.1f s" % (number + 1, kind, away))
            if kind == "sessions":
                for _ in range(6):
                    fleet.postgres.sql(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = "
                        "'gateway_login' AND random() < 0.4"
                    )
                    await asyncio.sleep(0.1)
            elif kind == "read-only":
                fleet.postgres.set("default_transaction_read_only", "on")
                await asyncio.sleep(away)
                await asyncio.gather(*(probe(backend, gateway) for gateway in fleet.gateways))
                fleet.postgres.set("default_transaction_read_only", "off")
            else:
                fleet.postgres.stop(kind)
                await asyncio.sleep(away)
                await asyncio.gather(*(probe(backend, gateway) for gateway in fleet.gateways))
                fleet.postgres.start()
            started = time.monotonic()
            for gateway in fleet.gateways:
                await gateway.wait_ready()
            say("round %d: ready again after %.1f s" % (number + 1, time.monotonic() - started))
        await backend.finish()
        figures = await backend.compare()
        if processes != [gateway.process.pid for gateway in fleet.gateways if gateway.process.poll() is None]:
            raise Failed("a gateway did not survive")
        # A registration whose answer was lost leaves a number that no gateway has, and that may well be taken over.
        living = {number for gateway in fleet.gateways for number in gateway.instances()}
        if living.intersection(fleet.taken_over()):
            raise Failed("living gateways took each other over: %s of %s" % (fleet.taken_over(), sorted(living)))
        figures["registrations"] = len(living)
        return figures
    finally:
        fleet.close()


async def rolling(arguments):
    """Two, then four gateways, restarted in turn behind a balancer that follows /readyz: no request fails, and every
    push goes out once."""
    fleet = Fleet(arguments.livepush, 4, PATIENT, arguments.seed)
    balancer = Balancer(fleet)
    try:
        await balancer.start()
        for gateway in fleet.gateways[:2]:
            gateway.start()
        for gateway in fleet.gateways[:2]:
            await gateway.wait_ready()
        backend = Backend(fleet, balancer=balancer)
        await backend.register()
        if not await eventually(lambda: len(balancer.ready) == 2, 10):
            raise Failed("the balancer does not see that gateways are ready")
        backend.start()
        await asyncio.sleep(2)
        for gateway in fleet.gateways[2:]:
            gateway.start()
        for gateway in fleet.gateways[2:]:
            await gateway.wait_ready()
        await asyncio.sleep(2)
        await backend.collect()
        if len(backend.connections_used) < 4:
            raise Failed("only %d of 4 gateways sent anything" % len(backend.connections_used))
        for number in range(arguments.size):
            gateway = fleet.gateways[number % len(fleet.gateways)]
            gateway.send(signal.SIGTERM)
            started = time.monotonic()
            if not await eventually(lambda: gateway.process.poll() is not None, 25):
                raise Failed("%s did not end within 25 s" % gateway.name)
            if gateway.process.returncode != 0:
                raise Failed("%s ended with %d" % (gateway.name, gateway.process.returncode))
            say("round %d: %s ended after %.1f s" % (number + 1, gateway.name, time.monotonic() - started))
            gateway.start()
            await gateway.wait_ready()
        await backend.finish()
        return await backend.compare(exactly_once=True)
    finally:
        balancer.close()
        fleet.close()


async def takeover(arguments):
    """With intervals as they are by default, the work of a killed gateway arrives at APNs within 30 seconds, from
    another one. SIZE: messages."""
    fleet = Fleet(arguments.livepush, 2, [], arguments.seed)
    try:
        await fleet.start()
        victim = fleet.gateways[0]
        backend = Backend(fleet, accounts=arguments.size, activities=0)
        await backend.register()
        # A connection has one stream until its first answer.
        await backend.attempt(backend.make(backend.accounts[:1]), victim)
        await fleet.wait_empty(30)
        await fleet.behave({"*": [{"silent": True, "times": arguments.size}]})
        for account in backend.accounts:
            await backend.attempt(backend.make([account]), victim)
        if len(await fleet.pushes(1, arguments.size, 30)) < arguments.size:
            raise Failed("the pushes do not arrive")
        victim.kill()
        started = time.monotonic()
        pushes = await fleet.pushes(1 + arguments.size, arguments.size, 30)
        took = time.monotonic() - started
        if len(pushes) < arguments.size:
            raise Failed("30 s after a gateway was killed %d of %d pushes came again" % (len(pushes), arguments.size))
        await fleet.wait_empty(30)
        figures = await backend.compare()
        figures["seconds"] = round(took, 1)
        return figures
    finally:
        fleet.close()


async def poison(arguments):
    """Three gateways; a message that kills whoever sends it is quarantined, while others that are merely there when
    gateways are killed all arrive. SIZE: of those."""
    fleet = Fleet(arguments.livepush, 3, QUICK + ["--apns-request-timeout", "20"], arguments.seed)
    try:
        await fleet.start()
        backend = Backend(fleet, accounts=61, activities=0)
        await backend.register()
        guilty_account = backend.accounts.pop()
        guilty_token = backend.tokens[guilty_account]
        await fleet.settings(6)
        await fleet.behave({guilty_token: [{"silent": True, "times": 0}], "*": [{"delay": 0.2, "times": 0}]})
        guilty = backend.make([guilty_account])
        innocent = [backend.make([backend.random.choice(backend.accounts)]) for _ in range(arguments.size)]
        posts = [guilty] + innocent
        backend.random.shuffle(posts)
        restarts = asyncio.Lock()
        guilt = []

        async def restart(gateway):
            gateway.kill()
            gateway.start()
            await gateway.wait_ready()

        async def follow_guilty():
            seen = 0
            while True:
                answer = await fleet.arrivals(seen, 1, 5)
                for push in answer["requests"]:
                    seen = push["number"]
                    if push["token"] == guilty_token:
                        port = next(facts["port"] for facts in answer["connections"] if facts["number"] == push["connection"])
                        gateway = fleet.owner_of(port)
                        guilt.append(gateway)
                        say("the guilty one went out through %s" % (gateway.name if gateway else "a dead gateway"))
                        if gateway:
                            async with restarts:
                                await restart(gateway)

        async def post_all():
            async def post_some():
                while posts:
                    await backend.post(posts.pop(), repeats=1000)
            await asyncio.gather(*(post_some() for _ in range(30)))

        following = asyncio.ensure_future(follow_guilty())
        try:
            await post_all()
            say("%d messages accepted, %d rows wait" % (arguments.size + 1, fleet.pending()))
            for number in range(5):
                await asyncio.sleep(fleet.random.uniform(0.5, 1.5))
                # The last of the innocent run alone: killed there three times, one is as suspect as the guilty.
                if fleet.pending() < 50:
                    break
                async with restarts:
                    gateway = fleet.random.choice(fleet.gateways)
                    say("kill %d: %s, %d rows wait" % (number + 1, gateway.name, fleet.pending()))
                    await restart(gateway)
            quarantined = "SELECT account, count(*) FROM delivery WHERE outcome = 'quarantined' GROUP BY account"
            if not await eventually(lambda: fleet.postgres.sql(quarantined), 90, 0.5):
                raise Failed("the guilty message is not quarantined after %d deaths" % len(guilt))
            say("quarantined after it went out %d times" % len(guilt))
            last = [backend.make([backend.random.choice(backend.accounts)]) for _ in fleet.gateways]
            for request, gateway in zip(last, fleet.gateways):
                if not await eventually(lambda: backend.attempt(request, gateway), 20):
                    raise Failed("%s takes no messages" % gateway.name)
            await fleet.wait_empty(60)
        finally:
            following.cancel()
        if fleet.postgres.sql(quarantined) != guilty_account + "|1":
            raise Failed("quarantined: %s" % fleet.postgres.sql(quarantined))
        # Of the other kills one may have met it too.
        deaths = [
            line["takeovers"] for gateway in fleet.gateways for line in gateway.lines()
            if line["message"] == "message quarantined: its instance died with it again and again"
        ]
        if not 3 <= max(deaths) <= 5 or not 2 <= len(guilt) <= 5:
            raise Failed("quarantined after %s takeovers; it went out %d times" % (deaths, len(guilt)))
        figures = await backend.compare(apart_from=[guilty])
        figures["deaths of the guilty one"] = max(deaths)
        figures["rows taken over"] = fleet.rows_taken_over()
        return figures
    finally:
        fleet.close()


async def resume(arguments):
    """A gateway is stopped while many of its pushes wait for a stream, and resumed when another has done its work: it
    sends none of them, and works again. SIZE: messages."""
    fleet = Fleet(arguments.livepush, 2, QUICK + ["--apns-request-timeout", "60"], arguments.seed, streams=1)
    try:
        await fleet.start()
        victim, other = fleet.gateways
        backend = Backend(fleet, accounts=20, activities=0)
        await backend.register()
        await fleet.behave({"*": [{"delay": 0.2, "times": 0}]})
        for _ in range(arguments.size):
            await backend.attempt(backend.make([backend.random.choice(backend.accounts)]), victim)
        if not await fleet.pushes(0, 3, 20):
            raise Failed("nothing arrives")
        victim.send(signal.SIGSTOP)
        before = len(await fleet.pushes(0))
        say("%s stopped after %d of %d pushes" % (victim.name, before, arguments.size))
        if before > arguments.size // 2:
            raise Failed("it had sent most of them already")
        # As many streams as it likes, as soon as it reads that.
        await fleet.behave({"*": []})
        await fleet.settings(1000)
        await fleet.wait_empty(60)
        after = len(await fleet.pushes(0))
        say("%s has sent the rest: %d pushes by now" % (other.name, after))
        victim.send(signal.SIGCONT)
        if not await eventually(lambda: len(victim.instances()) == 2, 30):
            raise Failed("%s did not register again: %s" % (victim.name, victim.tail()))
        await victim.wait_ready()
        last = backend.make([backend.accounts[0]])
        if not await eventually(lambda: backend.attempt(last, victim), 20):
            raise Failed("%s takes no messages" % victim.name)
        await fleet.pushes(after, 1, 20)
        await fleet.wait_empty(20)
        late = [push for push in await fleet.pushes(after) if "message %d" % last.number not in push["text"]]
        if late:
            raise Failed("%d pushes went out after another gateway had sent them" % len(late))
        return await backend.compare()
    finally:
        fleet.close()


async def outage(arguments):
    """APNs answers nothing while messages keep coming: they are taken until the backlog is full, callers are told to
    slow down, and memory stays small; when APNs is back, all of it goes out, the oldest first, and of an activity's
    states the newest. SIZE: seconds. Minutes of it run with the limits that `livepush serve` has by itself, which are
    not reached."""
    is_long = arguments.size >= 60
    limit = 1000
    flags = [] if is_long else [
        "--memory-limit", "1000", "--backlog-limit", str(limit),
        "--retry-schedule", "1,4,8", "--apns-request-timeout", "3", "--apns-connect-timeout", "2",
        "--apns-ping-interval", "1", "--apns-ping-timeout", "2",
    ] + PATIENT
    fleet = Fleet(arguments.livepush, 1, flags, arguments.seed)
    try:
        gateway = fleet.gateways[0]
        await fleet.start()
        backend = Backend(fleet)
        await backend.register()
        backend.start(*((10, 0.005) if is_long else (6, 0.01)))
        await asyncio.sleep(1)
        await backend.collect()
        before = max(backend.connections_used)
        fleet.peer.send_signal(signal.SIGSTOP)
        began_at, silent_from = time.monotonic(), time.time()
        say("APNs answers nothing")
        if not is_long:
            if not await eventually(lambda: backend.refusals.get(60007, 0) > 0, 90):
                raise Failed("callers were never told to slow down, with %d rows waiting" % fleet.pending())
            if fleet.pending() < limit:
                raise Failed("callers were told to slow down with %d rows waiting" % fleet.pending())
            say("told to slow down after %.1f s" % (time.monotonic() - began_at))
        await asyncio.sleep(arguments.size)
        memory, waiting = gateway.memory(), fleet.pending()
        fleet.peer.send_signal(signal.SIGCONT)
        silent_to = time.time()
        say("APNs is back; %d rows wait, %.0f MB at the most" % (waiting, memory))
        backend.is_running = False

        async def sends_again():
            # On the connections of before, APNs also reads what was given up long ago.
            return any(push["connection"] > before for push in await fleet.pushes(backend.arrivals))

        if not await eventually(sends_again, 90, 0.2):
            raise Failed("nothing is sent 90 s after APNs is back")
        sends_from, began_at = time.time(), time.monotonic()
        say("it sends again %.1f s later" % (sends_from - silent_to))
        due = [line.split("|") for line in fleet.postgres.sql(
            "SELECT msg_key, account FROM pending JOIN message ON message.id = message_id AND message.accepted_at = "
            "pending.accepted_at WHERE instance_id IS NULL AND due <= now() AND account IS NOT NULL AND la_id IS NULL "
            "ORDER BY due"
        ).splitlines()]
        waiting = fleet.pending()
        await backend.finish(3600 if is_long else 90)
        drained = time.monotonic() - began_at
        say("drained after %.1f s" % drained)
        if gateway.memory() > 300:
            raise Failed("%d rows waited, %.0f MB at the most" % (waiting, gateway.memory()))
        figures = await backend.compare()
        refusals = set(backend.refusals)
        if refusals - {60007}:
            raise Failed("callers were refused with %s" % refusals)
        numbers = {request.key: number for number, request in backend.requests.items()}
        came = [
            [at for at, by in backend.sightings[numbers[key], backend.tokens[account]] if by > before and at > sends_from]
            for key, account in due if key in numbers
        ]
        # By the connections of before came again what was given up, which says nothing about the order of the rest.
        arrived = [min(times) for times in came if times]
        disorder = displacement(arrived)
        states = sum(
            1 for request in backend.requests.values()
            if request.activity and request.ok_at and silent_from < request.ok_at < silent_to
        )
        late = sum(
            1 for history in backend.states.values() for _, received, number in history
            if received > silent_to and silent_from < (backend.requests[number].ok_at or 0) < silent_to
        )
        figures.update({
            "of them due": len(arrived), "places from due order": round(disorder), "states accepted": states,
            "of them sent": late, "MB at the most": round(gateway.memory()), "rows a second": round(waiting / drained),
        })
        if not is_long and late > max(2 * len(backend.activities), states // 4):
            raise Failed("stale states went out: %s" % figures)
        # In any order it would be a third of them, from the newest on a half. Of a short outage a good part was in memory,
        # and on its way, when it began: those have an attempt behind them.
        if not 50 < len(arrived) > (20 if is_long else 6) * disorder:
            raise Failed("what was due first did not go out first: %s" % figures)
        return figures
    finally:
        fleet.close()


def displacement(arrived):
    """By how many places, on average, the times are away from their order; of n at random it would be n / 3."""
    ranks = {received: rank for rank, received in enumerate(sorted(arrived))}
    return sum(abs(ranks[received] - place) for place, received in enumerate(arrived)) / (len(arrived) or 1)


async def slow(arguments):
    """APNs takes fewer pushes than come, with little memory for what waits: all of it goes out in the order in which it
    was accepted, and what only waited counts as no attempt. SIZE: seconds."""
    flags = [
        "--memory-limit", "500", "--retry-schedule", "1,4,8", "--apns-request-timeout", "3", "--apns-patience", "0.5",
    ] + PATIENT
    fleet = Fleet(arguments.livepush, 1, flags, arguments.seed, streams=8)
    try:
        await fleet.start()
        backend = Backend(fleet, activities=0)
        await backend.register()
        await fleet.behave({"*": [{"delay": 0.1, "times": 0}]})
        backend.start(6, 0.01)
        await asyncio.sleep(arguments.size)
        await backend.stop()
        waiting = fleet.pending()
        # Still slow: now from what waits alone.
        await asyncio.sleep(arguments.size / 2)
        left = fleet.pending()
        say("%d rows wait at the end of the load, %d after %.1f s" % (waiting, left, arguments.size / 2))
        await fleet.behave({"*": []})
        await fleet.settings(1000)
        await backend.finish(60)
        figures = await backend.compare(exactly_once=True)
        accepted = dict(line.split("|") for line in fleet.postgres.sql("SELECT msg_key, id FROM message").splitlines())
        places = sorted(
            (int(accepted[backend.requests[number].key]), min(times)[0])
            for (number, _), times in backend.sightings.items()
        )
        arrived = [received for _, received in places]
        disorder = displacement(arrived)
        attempts = fleet.postgres.sql("SELECT max(attempts) FROM delivery")
        figures.update({"rows waited": waiting, "places from the order": round(disorder, 1), "attempts": attempts})
        if left < 300 or waiting < 600:
            raise Failed("APNs was not slow enough: %s" % figures)
        if len(arrived) < 20 * disorder:
            raise Failed("pushes did not go out in the order of their acceptance: %s" % figures)
        if attempts != "1":
            raise Failed("waiting counts as an attempt: %s" % figures)
        return figures
    finally:
        fleet.close()


async def answer_to(port, data, pause=0, timeout=30):
    """Sends bytes, one at a time where there is a pause. Returns the status of each answer until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def write():
        try:
            if not pause:
                writer.write(data)
            for byte in data if pause else b"":
                writer.write(bytes([byte]))
                await asyncio.sleep(pause)
        except ConnectionError:
            pass

    async def read():
        statuses = []
        try:
            while True:
                statuses.append((await read_answer(reader))[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            return statuses

    writing = asyncio.ensure_future(write())
    try:
        return await asyncio.wait_for(read(), timeout)
    finally:
        writing.cancel()
        writer.close()


async def clients(arguments):
    """Clients that misbehave, beside a backend that does not."""
    fleet = Fleet(arguments.livepush, 1, QUICK + ["--head-timeout", "1", "--body-timeout", "2"], arguments.seed)
    try:
        await fleet.start()
        gateway = fleet.gateways[0]
        backend = Backend(fleet)
        await backend.register()
        backend.start(workers=4)
        post = "POST %s?sdkappid=%d&identifier=administrator&usersig=%s&contenttype=json HTTP/1.1\r\nHost: x\r\n" % (
            "/v4/openim/sendmsg", SDK_APP_ID, fleet.user_sig,
        )

        def message(close=True):
            body = backend.make(["account-1"]).body
            end = "Connection: close\r\n" if close else ""
            return (post + end + "Content-Length: %d\r\n\r\n%s" % (len(body), body)).encode()

        def chunked():
            body = backend.make(["account-1"]).body
            head = post + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            return (head + "".join("1\r\n%s\r\n" % letter for letter in body) + "0\r\n\r\n").encode()

        async def expect(what, expected, data, **options):
            found = await answer_to(gateway.port, data, **options)
            say("%s: %s" % (what, found))
            if found not in expected:
                backend.faults.append("%s was answered with %s" % (what, found))

        descriptors = gateway.descriptors()
        for _ in range(arguments.size):
            await expect("a slow head", ([408],), b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100, pause=0.1)
            await expect("a slow body", ([408],), message()[:-20])
            await expect("silence", ([],), b"")
            await expect("a message in chunks of one byte", ([200],), chunked())
            await expect(
                "five messages at once", ([200] * 5,), b"".join(message(close=number == 4) for number in range(5))
            )
            await expect("a long header", ([431],), b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100000 + b"\r\n\r\n")
            await expect("a long URL", ([414], [431]), b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n")
            await expect("a long body", ([413],), post.encode() + b"Content-Length: 300000\r\n\r\n" + b"x" * 300000)
            # Gone before the answer, some with a reset: what the gateway took arrives once, the rest not at all.
            for number in range(60):
                _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
                writer.write(message())
                await asyncio.sleep(fleet.random.uniform(0, 0.02))
                writer.transport.abort() if number % 2 else writer.close()
        await backend.finish()
        # Up to 20 are its connections to PostgreSQL and APNs, which grow under load.
        if not await eventually(lambda: gateway.descriptors() <= descriptors + 20, 20):
            raise Failed("%d descriptors became %d" % (descriptors, gateway.descriptors()))
        return await backend.compare()
    finally:
        fleet.close()


def hold(port, first, count, pipe):
    """A process that opens connections, says how many, waits to be told, and reads until each is closed."""
    connections = []
    for number in range(first, first + count):
        client = socket.socket()
        # A source address has 28,000 ports.
        client.bind(("127.0.%d.1" % (1 + number // 20000), 0))
        client.settimeout(60)
        client.connect(("127.0.0.1", port))
        connections.append(client)
    pipe.send(len(connections))
    pipe.recv()
    for client in connections:
        try:
            while client.recv(1000) != b"":
                pass
        except ConnectionResetError:
            pass
        client.close()
    pipe.send(len(connections))


async def idle(arguments):
    """Clients that connect and say nothing: those beyond the limit are closed at once, the others after the time that a
    request's head may take, and memory stays small. SIZE: connections."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    share = arguments.size if files == resource.RLIM_INFINITY else files - 200
    limit = min(arguments.size // 4, share // 2)
    flags = QUICK + ["--head-timeout", "10", "--maximum-connections", str(limit)]
    fleet = Fleet(arguments.livepush, 1, flags, arguments.seed)
    processes = []
    try:
        await fleet.start()
        gateway = fleet.gateways[0]
        before = gateway.descriptors()
        most = 0
        for first in range(0, arguments.size, share):
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(
                target=hold, args=(gateway.port, first, min(share, arguments.size - first), theirs), daemon=True
            )
            process.start()
            processes.append(ours)
        opened = 0
        for pipe in processes:
            while not pipe.poll():
                most = max(most, gateway.descriptors() - before)
                await asyncio.sleep(0.02)
            opened += pipe.recv()
        most = max(most, gateway.descriptors() - before)
        say("%d connections: the gateway held %d of at most %d, %.0f MB" % (opened, most, limit, gateway.memory()))
        if opened != arguments.size:
            raise Failed("%d of %d connections" % (opened, arguments.size))
        if most > limit + 10:
            raise Failed("it held %d connections, with a limit of %d" % (most, limit))
        if gateway.memory() > 300:
            raise Failed("%.0f MB at the most" % gateway.memory())
        # In the end each of them is closed by the gateway, also those below the limit.
        for pipe in processes:
            pipe.send("read")
        for pipe in processes:
            if not await eventually(pipe.poll, 120):
                raise Failed("idle connections are not closed")
        if not await eventually(gateway.ready, 20):
            raise Failed("the gateway does not answer afterwards")
        if not await eventually(lambda: gateway.descriptors() <= before + 10, 20):
            raise Failed("%d descriptors became %d" % (before, gateway.descriptors()))
        return {"connections": opened, "held": most, "MB at the most": round(gateway.memory())}
    finally:
        fleet.close()


def add_past(fleet, days):
    """Gives the database a history: 10,000 finished messages on each of so many days, 31 days ago and before."""
    for age in range(31, 31 + days):
        day, next_day = ("((now() AT TIME ZONE 'UTC')::date - %d)" % number for number in (age, age - 1))
        for parent in ("message", "delivery"):
            fleet.postgres.sql(
                "SET timezone = 'UTC'; DO $$ BEGIN EXECUTE format('CREATE TABLE %%s (LIKE %s INCLUDING ALL)', "
                "'%s_' || to_char(%s, 'YYYYMMDD')); EXECUTE format('ALTER TABLE %s ATTACH PARTITION %%s FOR VALUES FROM "
                "(%%L) TO (%%L)', '%s_' || to_char(%s, 'YYYYMMDD'), %s, %s); END $$"
                % (parent, parent, day, parent, parent, day, day, next_day)
            )
        fleet.postgres.sql(
            "SET timezone = 'UTC'; WITH past AS (INSERT INTO message (accepted_at, sdk_app_id, dialect, endpoint, msg_key, "
            "sender, recipients) SELECT %s + interval '12 hours', %d, 'tencent', 'sendmsg', 'past', 'past', 1 FROM "
            "generate_series(1, 10000) RETURNING id, accepted_at) INSERT INTO delivery (message_id, accepted_at, "
            "sdk_app_id, account, route, route_reason, fallback, outcome, attempts) SELECT id, accepted_at, %d, 'past', "
            "'none', 'no_device', false, 'nothing_to_send', 0 FROM past" % (day, SDK_APP_ID, SDK_APP_ID)
        )


async def soak(arguments):
    """Normal load for long, while `livepush retention` drops one day of the past after the other: descriptors, memory
    and the database without its history stay as they are. SIZE: minutes."""
    flags = ["--heartbeat-interval", "1", "--retry-schedule", "0.2,0.4,0.8"]
    fleet = Fleet(arguments.livepush, 2, flags, arguments.seed)
    history = (
        "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) / 1048576.0 FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND %s (relispartition)"
    )
    try:
        days = 20
        add_past(fleet, days)
        past = "SELECT count(*) FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'message'::regclass " \
            "AND right(relname, 8) < to_char((now() AT TIME ZONE 'UTC')::date - 30, 'YYYYMMDD')"
        await fleet.start()
        backend = Backend(fleet)
        await backend.register()
        backend.start(workers=4, pause=0.1)
        backend.tasks.append(asyncio.ensure_future(stumble(fleet, backend)))
        rows = []
        interval = max(1, arguments.size * 60 / 40)
        print("%8s %9s %7s %7s %13s %12s" % ("seconds", "messages", "MB", "files", "tables in MB", "history"))
        for number in range(40):
            if number % 2:
                days -= 1
                report = await asyncio.to_thread(fleet.command, "retention", "--days", str(30 + days))
                if report.count("dropped") != 1 or int(fleet.postgres.sql(past)) != days:
                    raise Failed("retention: %s; %s days of the past are left" % (report, fleet.postgres.sql(past)))
            end = time.monotonic() + interval
            while time.monotonic() < end:
                await asyncio.sleep(min(5, interval))
                await backend.collect()
            row = (
                sum(gateway.memory("VmRSS") for gateway in fleet.gateways),
                sum(gateway.descriptors() for gateway in fleet.gateways),
                float(fleet.postgres.sql(history % "NOT")),
            )
            rows.append(row)
            print("%8d %9d %7.1f %7d %13.1f %12.1f" % (
                (time.monotonic() - began, len(backend.requests)) + row + (float(fleet.postgres.sql(history % "")),)
            ), flush=True)
        await backend.finish(300)
        figures = await backend.compare()
        figures["days dropped"] = 20 - days
        figures["largest in kB"] = fleet.postgres.sql(
            "SELECT string_agg(relname || ' ' || size / 1024, ', ') FROM (SELECT relname, pg_total_relation_size(oid) AS "
            "size FROM pg_class WHERE relkind = 'r' AND NOT relispartition AND relnamespace = 'public'::regnamespace "
            "ORDER BY 2 DESC LIMIT 4) AS largest"
        )
        # The first third is warm-up; of the rest, the later half against the earlier one.
        rest = rows[len(rows) // 3:]
        earlier, later = rest[:len(rest) // 2], rest[len(rest) // 2:]
        for column, (name, slack) in enumerate((("memory", 4), ("files", 4), ("tables", 4))):
            before, after = (max(row[column] for row in part) for part in (earlier, later))
            if after > before * 1.05 + slack:
                raise Failed("%s grew from %.1f to %.1f" % (name, before, after))
        return figures
    finally:
        fleet.close()


SCENARIOS = {
    "kill": (kill, 20), "database": (database, 6), "rolling": (rolling, 4), "takeover": (takeover, 20),
    "poison": (poison, 500), "resume": (resume, 60), "outage": (outage, 3), "slow": (slow, 8), "clients": (clients, 1),
    "idle": (idle, 4000), "soak": (soak, 20),
}


async def run_beside(arguments):
    """Each scenario in a process of its own. Returns whether all came out as they must."""
    async def start(words):
        process = await asyncio.create_subprocess_exec(
            *bound([sys.executable, "-B", __file__, words, "--livepush", arguments.livepush, "--seed",
                    str(arguments.seed)], "TERM"),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        print(output.decode(), flush=True)
        return process.returncode == 0

    return all(await asyncio.gather(*map(start, arguments.scenario)))


def main():
    parser = argparse.ArgumentParser(description="Faults under load.")
    parser.add_argument("scenario", nargs="+", metavar="SCENARIO[=SIZE]", help=", ".join(SCENARIOS))
    parser.add_argument("--livepush", required=True)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    arguments = parser.parse_args()
    # Ends what was started, and removes the folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if len(arguments.scenario) > 1:
        sys.exit(0 if asyncio.run(run_beside(arguments)) else 1)
    name, _, size = arguments.scenario[0].partition("=")
    if name not in SCENARIOS:
        parser.error("there is no scenario %s" % name)
    run, usual = SCENARIOS[name]
    arguments.size = int(size or usual)
    say("%s=%d --seed %d" % (name, arguments.size, arguments.seed))
    try:
        figures = asyncio.run(run(arguments))
    except Failed as error:
        say("FAILED: %s: %s" % (name, error))
        sys.exit(1)
    say("%s: %s" % (name, ", ".join("%s: %s" % item for item in figures.items())))


if __name__ == "__main__":
    main()
