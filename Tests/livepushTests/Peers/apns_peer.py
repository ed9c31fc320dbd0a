#!/usr/bin/python3
"""An APNs for tests, on Python's h2: it shares no code with livepush.

It listens as the production and as the sandbox APNs (TLS 1.2 or newer, ALPN h2, a server certificate of its own test
CA), checks every request against Apple's documentation, records it byte for byte and answers as it is told to.

    apns_peer.py --directory DIR --key KEYID:TEAMID:PRIVATE_OR_PUBLIC.pem:TOPIC[,TOPIC...] [--key ...]
                 [--streams 1000] [--host localhost]

It writes DIR/ca.pem, prints one line of JSON {"production", "sandbox", "control", "ca"} and ends when its standard
input closes, so that none outlives the test that started it.

Control is plain HTTP with JSON on 127.0.0.1 (the port "control"):

    GET  /requests?after=N&count=C&wait=S   requests with a number above N; answers when there are C of them or after
                                            S seconds. Also "connections", each with its problem and its counts, and
                                            "accepted", each TCP connection that came.
    POST /behaviours                        {"TOKEN" | "key:KEYID" | "*:PUSH_TYPE" | "*:TOPIC" | "*": [ACTION, ...]}:
                                            what the next requests get, first match wins; an ACTION serves "times"
                                            requests (default 1; 0: for ever)
    POST /tokens                            {"TOKEN": {"environment": E, "kind": "device" | "activity"}}: tokens that
                                            only that environment, and that kind of topic, accepts
    POST /accept                            {"production" | "sandbox" | "*": [DOOR, ...]}: what the next TCP connections
                                            meet, with "times" as above
    POST /settings                          {"streams": N, "afterRefusal": N}: announces a new limit on every connection;
                                            afterRefusal: after an answer 4xx the limit is that, until the next 200
    POST /goaway                            {"code": 0, "reason": TEXT or null, "last": "all" | "none" | "mid", "times": N,
                                            "refuse": true}: GOAWAY on every connection, the connection stays. mid: leaves
                                            out the later half of the open streams. refuse: later streams are refused,
                                            where without it they are not heard
    POST /live                              {"environment": E, "team": T, DOOR...}: their connections behave so from now on
    POST /forget                            {"through": N}: forgets requests up to that number, in a long run
    POST /heal                              forgets behaviours and doors
    POST /reset                             forgets behaviours, doors, tokens and requests, and the limits are those of
                                            the start; connections stay

An ACTION, all keys optional: {"status": 410, "reason": "Unregistered", "timestamp": MS, "retryAfter": S, "delay": S,
"silent": true, "close": true, "refuse": true, "reset": CODE, "goaway": REASON, "sticks": true, "times": N}. close: the
request is processed, then the TCP connection is closed without an answer. refuse: RST_STREAM with REFUSED_STREAM.
reset: the request is processed, then RST_STREAM instead of an answer. goaway: GOAWAY that leaves out this request.
sticks: the connection answers all later requests in the same way. Without status, reason and the rest, the request is
checked and answered as usual.

A DOOR, all keys optional: {"tls": "never" | "otherName" | "otherRoot", "noSettings": true, "goaway": REASON,
"mute": true, "swallow": true, "refuse": true, "close": true, "times": N}. tls never: TCP is accepted and nothing more
happens. noSettings: nothing is written after the handshake. goaway: GOAWAY instead of SETTINGS. mute: no request is
answered, PINGs are. swallow: nothing is read or written any more, as behind a firewall that forgot the connection.
refuse: every stream is refused. close: TCP is closed at once.
"""
import argparse
import asyncio
import base64
import collections
import datetime
import ipaddress
import itertools
import json
import os
import re
import socket
import ssl
import sys
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame, SettingsFrame

REFUSED_STREAM = 7
MAX_CONCURRENT_STREAMS = 3
HEADERS = {
    ":method", ":scheme", ":path", ":authority", "authorization", "apns-push-type", "apns-topic", "apns-id",
    "apns-expiration", "apns-priority", "apns-collapse-id", "content-type", "content-length", "user-agent",
}
TOPIC_SUFFIX = {
    "alert": "", "background": "", "liveactivity": ".push-type.liveactivity", "voip": ".voip",
    "complication": ".complication", "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
    "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets", "controls": ".push-type.controls",
}
USUAL_REASON = {
    400: "BadDeviceToken", 403: "InvalidProviderToken", 410: "Unregistered", 413: "PayloadTooLarge",
    429: "TooManyRequests", 500: "InternalServerError", 503: "ServiceUnavailable",
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BASE64URL = re.compile(r"[A-Za-z0-9_-]+")


class Refusal(Exception):
    """The answer that APNs would give to a wrong request."""

    def __init__(self, status, reason, **members):
        super().__init__(reason)
        self.status, self.reason, self.members = status, reason, members


class Key:
    """A provider key as Apple knows it: its id, its team, its public half and its topics."""

    def __init__(self, text):
        self.id, self.team, path, topics = text.split(":")
        self.topics = topics.split(",")
        with open(path, "rb") as file:
            pem = file.read()
        if b"PRIVATE KEY" in pem:
            self.public = serialization.load_pem_private_key(pem, None).public_key()
        else:
            self.public = serialization.load_pem_public_key(pem)

    def verifies(self, signed, signature):
        """Whether `signature`, raw r and s of 32 bytes each (RFC 7518, 3.4), is this key's."""
        if len(signature) != 64:
            return False
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        try:
            self.public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


def base64url(text):
    if not BASE64URL.fullmatch(text):
        raise ValueError("not base64url without padding")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def key_id(authorization):
    """The key that a provider token names, "" where it names none."""
    try:
        return json.loads(base64url(authorization.split(" ")[1].split(".")[0]))["kid"]
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def no_duplicates(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate keys")
    return members


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


class Peer:
    """What all connections share: keys, behaviours, and what arrived."""

    def __init__(self, keys, streams):
        self.keys = {key.id: key for key in keys}
        self.streams = self.first_streams = streams
        self.streams_after_refusal = None
        self.behaviours = {}
        self.doors = {}
        self.accepted = []
        self.tokens = {}
        self.requests = []
        self.numbers = itertools.count(1)
        self.connections = []
        self.changed = asyncio.Condition()

    async def announce(self):
        async with self.changed:
            self.changed.notify_all()

    def action(self, token, fields):
        """The next action for such a request, or an empty one."""
        push_type, topic = fields.get("apns-push-type", ""), fields.get("apns-topic", "")
        return self.take(
            self.behaviours,
            (token, "key:" + key_id(fields.get("authorization", "")), "*:" + push_type, "*:" + topic, "*"),
        )

    def door(self, environment):
        """What the next connection meets."""
        return self.take(self.doors, (environment, "*"))

    @staticmethod
    def take(queues, names):
        for name in names:
            queue = queues.get(name)
            if queue:
                item = queue[0]
                if item.get("times", 1) == 1:
                    queue.popleft()
                elif item.get("times", 1) > 1:
                    queue[0] = dict(item, times=item["times"] - 1)
                return item
        return {}

    def check(self, record, headers, connection):
        """Raises the refusal that APNs would answer with. Faults that APNs would not notice go into "problems"."""
        problems = record["problems"]
        names = [name for name, _, _ in headers]
        for name in sorted(set(names)):
            if names.count(name) > 1:
                raise Refusal(400, "DuplicateHeaders")
            if name not in HEADERS:
                problems.append("header " + name)
        fields = {name: value for name, value, _ in headers}
        for name, _, never_indexed in headers:
            if name in (":path", "authorization") and not never_indexed:
                problems.append(name + " may be indexed")
        if fields[":method"] != "POST":
            raise Refusal(405, "MethodNotAllowed")
        if not fields[":path"].startswith("/3/device/"):
            raise Refusal(404, "BadPath")
        token = record["token"]
        if not token:
            raise Refusal(400, "MissingDeviceToken")
        key = self.check_provider_token(fields, connection)
        if not re.fullmatch(r"([0-9a-f]{2}){32,256}", token):
            raise Refusal(400, "BadDeviceToken")
        if not UUID.fullmatch(fields.get("apns-id", "0" * 8 + "-0000-0000-0000-" + "0" * 12)):
            raise Refusal(400, "BadMessageId")
        if not re.fullmatch(r"0|[1-9][0-9]{0,11}", fields.get("apns-expiration", "0")):
            raise Refusal(400, "BadExpirationDate")
        if fields.get("apns-priority", "10") not in ("1", "5", "10"):
            raise Refusal(400, "BadPriority")
        if not 1 <= len(fields.get("apns-collapse-id", "x").encode()) <= 64:
            raise Refusal(400, "BadCollapseId")
        for name in ("apns-id", "apns-expiration", "apns-priority"):
            if name not in fields:
                problems.append("no " + name)
        push_type = record["pushType"]
        if push_type not in TOPIC_SUFFIX:
            raise Refusal(400, "InvalidPushType")
        if push_type == "background" and fields.get("apns-priority") != "5":
            raise Refusal(400, "BadPriority")
        topic = fields.get("apns-topic")
        if not topic:
            raise Refusal(400, "MissingTopic")
        suffix = TOPIC_SUFFIX[push_type]
        known = self.tokens.get(token)
        if known and known.get("environment", record["environment"]) != record["environment"]:
            raise Refusal(400, "BadDeviceToken")
        if topic not in [bundle + suffix for bundle in key.topics]:
            raise Refusal(400, "DeviceTokenNotForTopic" if topic.startswith(tuple(key.topics)) else "TopicDisallowed")
        if known and "kind" in known and (known["kind"] == "activity") != (push_type == "liveactivity"):
            raise Refusal(400, "DeviceTokenNotForTopic")
        self.check_body(base64.b64decode(record["body"]), push_type, problems)

    def check_provider_token(self, fields, connection):
        authorization = fields.get("authorization")
        if not authorization:
            raise Refusal(403, "MissingProviderToken")
        try:
            scheme, token = authorization.split(" ")
            head, claims, signature = token.split(".")
            header = json.loads(base64url(head))
            claim = json.loads(base64url(claims))
            signature = base64url(signature)
            key = self.keys[header["kid"]]
        except (ValueError, KeyError, TypeError):
            raise Refusal(403, "InvalidProviderToken") from None
        if scheme != "bearer" or header.get("alg") != "ES256" or claim.get("iss") != key.team:
            raise Refusal(403, "InvalidProviderToken")
        if not is_integer(claim.get("iat")) or not key.verifies((head + "." + claims).encode(), signature):
            raise Refusal(403, "InvalidProviderToken")
        if abs(time.time() - claim["iat"]) > 3600:
            raise Refusal(403, "ExpiredProviderToken")
        if connection.team not in (None, key.team):
            raise Refusal(403, "InvalidProviderToken")
        connection.team = key.team
        if connection.provider_token not in (None, token):
            raise Refusal(429, "TooManyProviderTokenUpdates")
        connection.provider_token = token
        return key

    def check_body(self, body, push_type, problems):
        if not body:
            raise Refusal(400, "PayloadEmpty")
        if len(body) > 4096:
            raise Refusal(413, "PayloadTooLarge")
        try:
            payload = json.loads(body.decode("utf-8"), object_pairs_hook=no_duplicates)
            aps = payload["aps"]
            if not isinstance(aps, dict):
                raise ValueError("aps")
        except (ValueError, KeyError, TypeError):
            raise Refusal(400, "PayloadEmpty") from None
        if push_type == "liveactivity":
            if set(payload) != {"aps"}:
                problems.append("keys beside aps: " + " ".join(sorted(set(payload) - {"aps"})))
            is_start = aps.get("event") == "start"
            unknown = set(aps) - {
                "timestamp", "event", "content-state", "dismissal-date", "stale-date", "relevance-score", "alert",
            }
            if is_start:
                unknown -= {"attributes-type", "attributes", "input-push-token", "input-push-channel"}
                if not isinstance(aps.get("attributes-type"), str) or not isinstance(aps.get("attributes"), dict):
                    problems.append("attributes")
                if not isinstance(aps.get("alert"), dict) or not {"title", "body"} & set(aps["alert"]):
                    problems.append("start without alert")
                if {"input-push-token", "input-push-channel"} <= set(aps):
                    problems.append("both inputs")
            if unknown:
                problems.append("unknown in aps: " + " ".join(sorted(unknown)))
            if aps.get("event") not in ("start", "update", "end"):
                problems.append("event")
            if not isinstance(aps.get("content-state"), dict):
                problems.append("content-state")
            if not is_integer(aps.get("timestamp")) or abs(aps["timestamp"] - time.time()) > 8 * 3600:
                problems.append("timestamp")
            for name in ("dismissal-date", "stale-date"):
                if name in aps and not (is_integer(aps[name]) and 0 <= aps[name] < 10**11):
                    problems.append(name)
            if aps.get("event") != "end" and "dismissal-date" in aps:
                problems.append("dismissal-date on " + str(aps.get("event")))
            if "alert" in aps and not aps["alert"]:
                problems.append("empty alert")
        elif push_type == "alert":
            alert = aps.get("alert")
            if not alert or not isinstance(alert, (dict, str)):
                problems.append("alert")
            for name in ("event", "content-state", "timestamp", "dismissal-date"):
                if name in aps:
                    problems.append(name + " in a notification")


class Connection(asyncio.Protocol):
    """One HTTP/2 connection."""

    def __init__(self, peer, environment, door):
        self.peer, self.environment, self.door = peer, environment, door
        self.number = len(peer.connections) + 1
        self.sticking = None
        self.team = self.provider_token = None
        self.limit = self.known_limit = 1
        self.unacknowledged = collections.deque()
        self.answered = False
        self.last_accepted = None
        self.open = {}
        self.records = {}
        self.highest = 0
        self.facts = {
            "number": self.number, "environment": environment, "opened": time.time(), "closed": None, "problem": None,
            "tls": None, "serverName": None, "pings": 0, "refusedByLimit": 0, "refused": 0, "streams": 0,
            "mostOpen": 0, "goaways": 0,
        }

    def connection_made(self, transport):
        self.transport = transport
        secure = transport.get_extra_info("ssl_object")
        self.facts["port"] = transport.get_extra_info("peername")[1]
        self.facts["tls"] = secure.version()
        self.facts["serverName"] = getattr(secure, "server_name", None)
        self.peer.connections.append(self)
        self.facts["number"] = self.number = len(self.peer.connections)
        if secure.selected_alpn_protocol() != "h2":
            self.facts["problem"] = "ALPN is not h2"
            transport.close()
            return
        self.http = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding=None)
        )
        # h2 would end the connection of a client that opens more streams than were announced; APNs resets those
        # streams. So h2 itself is given a limit out of reach and the announced one travels in a frame of our own.
        self.http.local_settings._settings[MAX_CONCURRENT_STREAMS] = collections.deque([1 << 30])
        self.http.initiate_connection()
        if "goaway" in self.door:
            self.http.data_to_send()
            self.last_accepted = 0
            self.go_away(0, self.door["goaway"])
        elif not self.door.get("noSettings"):
            # The first frame, of h2's own, is acknowledged as well.
            self.unacknowledged.append(1)
            self.flush()
            self.announce_limit(1)
        self.behave({})

    def behave(self, door):
        """Behaves so from now on, too."""
        self.door = dict(self.door, **door)
        if self.door.get("swallow"):
            self.transport.pause_reading()
        if self.door.get("close"):
            self.transport.abort()

    def announce_limit(self, limit):
        self.limit = limit
        self.unacknowledged.append(limit)
        self.write_frame(SettingsFrame(0, settings={MAX_CONCURRENT_STREAMS: limit}))

    def write_frame(self, frame):
        self.flush()
        if not self.door.get("swallow"):
            self.transport.write(frame.serialize())

    def flush(self):
        data = self.http.data_to_send()
        if self.door.get("swallow") or self.door.get("noSettings"):
            return
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def connection_lost(self, error):
        self.facts["closed"] = time.time()
        asyncio.ensure_future(self.peer.announce())

    def data_received(self, data):
        try:
            events = self.http.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            self.facts["problem"] = type(error).__name__ + ": " + str(error)
            self.flush()
            self.transport.close()
            return
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.request_received(event)
            elif isinstance(event, h2.events.DataReceived):
                self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self.open:
                    self.open[event.stream_id][1].append(event.data)
            elif isinstance(event, h2.events.StreamEnded):
                if event.stream_id in self.open:
                    asyncio.ensure_future(self.request_ended(event.stream_id))
            elif isinstance(event, h2.events.StreamReset):
                self.open.pop(event.stream_id, None)
            elif isinstance(event, h2.events.SettingsAcknowledged):
                if self.unacknowledged:
                    self.known_limit = self.unacknowledged.popleft()
            elif isinstance(event, h2.events.PingReceived):
                self.facts["pings"] += 1
        self.flush()

    def request_received(self, event):
        stream = event.stream_id
        self.facts["streams"] += 1
        if self.door.get("refuse"):
            self.facts["refused"] += 1
            self.http.reset_stream(stream, REFUSED_STREAM)
            return
        if self.last_accepted is not None and stream > self.last_accepted:
            return
        # What a client sent before it could know of a lower limit is not refused.
        if len(self.open) >= max([self.known_limit, *self.unacknowledged]):
            self.facts["refusedByLimit"] += 1
            self.http.reset_stream(stream, REFUSED_STREAM)
            return
        headers = [
            (field[0].decode("latin-1"), field[1].decode("utf-8", "replace"),
             isinstance(field, NeverIndexedHeaderTuple))
            for field in event.headers
        ]
        self.highest = max(self.highest, stream)
        self.open[stream] = (headers, [], time.time())
        self.facts["mostOpen"] = max(self.facts["mostOpen"], len(self.open))

    async def request_ended(self, stream):
        headers, parts, received = self.open[stream]
        fields = dict((name, value) for name, value, _ in headers)
        path = fields.get(":path", "")
        token = path[len("/3/device/"):] if path.startswith("/3/device/") else ""
        record = {
            "environment": self.environment, "connection": self.number,
            "stream": stream, "received": received, "fields": fields,
            "headers": [
                {"name": name, "value": value, "neverIndexed": never_indexed} for name, value, never_indexed in headers
            ],
            "token": token, "pushType": fields.get("apns-push-type", ""),
            "body": base64.b64encode(b"".join(parts)).decode(), "text": b"".join(parts).decode("utf-8", "replace"),
            "problems": [], "status": None, "reason": None,
        }
        action = self.sticking or self.peer.action(token, fields)
        if self.door.get("mute"):
            action = {"silent": True}
        if action.get("refuse"):
            self.open.pop(stream)
            self.facts["refused"] += 1
            self.http.reset_stream(stream, REFUSED_STREAM)
            self.flush()
            return
        if action.get("sticks"):
            self.sticking = action
        if "goaway" in action:
            self.last_accepted = stream - 2 if stream > 1 else 0
            self.go_away(0, action["goaway"])
            self.open.pop(stream)
            return
        refusal = None
        try:
            self.peer.check(record, headers, self)
        except Refusal as error:
            refusal = error
        if refusal is None and "status" in action and action["status"] != 200:
            members = {"timestamp": action["timestamp"]} if "timestamp" in action else {}
            refusal = Refusal(action["status"], action.get("reason", USUAL_REASON[action["status"]]), **members)
        record["status"] = refusal.status if refusal else 200
        record["reason"] = refusal.reason if refusal else None
        if action.get("silent") or action.get("close") or "reset" in action:
            record["status"] = None
        record["number"] = next(self.peer.numbers)
        self.records[stream] = record
        self.peer.requests.append(record)
        await self.peer.announce()
        if action.get("delay"):
            await asyncio.sleep(action["delay"])
        if action.get("close"):
            self.transport.abort()
        if action.get("close") or action.get("silent") or self.open.pop(stream, None) is None:
            return
        del self.records[stream]
        if "reset" in action:
            self.http.reset_stream(stream, action["reset"])
            self.flush()
            return
        self.answer(stream, record, refusal, action.get("retryAfter"))

    def answer(self, stream, record, refusal, retry_after):
        if self.transport.is_closing():
            return
        identifier = record["fields"].get("apns-id") or "00000000-0000-0000-0000-%012X" % record["number"]
        # Apple answers with upper-case ids in the wild.
        headers = [(":status", str(record["status"])), ("apns-id", identifier.upper())]
        if refusal is None:
            if not self.answered or self.limit == self.peer.streams_after_refusal:
                self.answered = True
                self.announce_limit(self.peer.streams)
            self.http.send_headers(stream, headers, end_stream=True)
        else:
            body = json.dumps(dict({"reason": refusal.reason}, **refusal.members)).encode()
            headers.append(("content-type", "application/json"))
            if retry_after is not None:
                headers.append(("retry-after", str(retry_after)))
            self.http.send_headers(stream, headers)
            self.http.send_data(stream, body, end_stream=True)
            if self.peer.streams_after_refusal and self.answered:
                self.announce_limit(self.peer.streams_after_refusal)
        self.flush()

    def left_out_from(self, last):
        """Which streams a GOAWAY leaves out; those are not answered."""
        streams = sorted(self.open)
        if last == "mid" and streams:
            self.last_accepted = streams[(len(streams) - 1) // 2]
        else:
            self.last_accepted = 0 if last == "none" else self.highest
        for stream in streams:
            if stream > self.last_accepted:
                self.open.pop(stream)
                if stream in self.records:
                    self.records[stream].update(status=None, reason="left out")

    def go_away(self, code, reason):
        """Sends GOAWAY. h2's own would also end the streams that may still be answered."""
        self.facts["goaways"] += 1
        last = self.last_accepted if self.last_accepted is not None else (1 << 31) - 1
        data = json.dumps({"reason": reason}).encode() if reason else b""
        self.write_frame(GoAwayFrame(0, last_stream_id=last, error_code=code, additional_data=data))


class Control:
    """The HTTP side on which a test asks and tells."""

    def __init__(self, peer):
        self.peer = peer

    async def serve(self, reader, writer):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split("\r\n")[0].split(" ")
            length = re.search(r"(?im)^content-length: *(\d+)", head)
            body = await reader.readexactly(int(length.group(1))) if length else b""
            url = urllib.parse.urlsplit(target)
            query = dict(urllib.parse.parse_qsl(url.query))
            answer = await self.answer(method, url.path, query, json.loads(body) if body else {})
            data = json.dumps(answer).encode()
            writer.write(
                b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                % (404 if answer is None else 200, len(data)) + data
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, method, path, query, body):
        peer = self.peer
        live = [connection for connection in peer.connections if connection.facts["closed"] is None]
        if (method, path) == ("GET", "/requests"):
            after, count, wait = int(query.get("after", 0)), int(query.get("count", 1)), float(query.get("wait", 0))
            async with peer.changed:
                try:
                    await asyncio.wait_for(
                        peer.changed.wait_for(
                            lambda: sum(record["number"] > after for record in peer.requests) >= count
                        ),
                        wait or 0.001,
                    )
                except asyncio.TimeoutError:
                    pass
            return {
                "requests": [record for record in peer.requests if record["number"] > after],
                "connections": [connection.facts for connection in peer.connections],
                "accepted": peer.accepted,
            }
        if (method, path) == ("POST", "/behaviours"):
            for name, actions in body.items():
                peer.behaviours[name] = collections.deque(actions)
        elif (method, path) == ("POST", "/accept"):
            for name, doors in body.items():
                peer.doors[name] = collections.deque(doors)
        elif (method, path) == ("POST", "/tokens"):
            peer.tokens.update(body)
        elif (method, path) == ("POST", "/settings"):
            peer.streams = body.get("streams", peer.streams)
            peer.streams_after_refusal = body.get("afterRefusal")
            for connection in live:
                connection.announce_limit(peer.streams)
        elif (method, path) == ("POST", "/goaway"):
            for connection in live:
                connection.left_out_from(body.get("last", "all"))
                for _ in range(body.get("times", 1)):
                    connection.go_away(body.get("code", 0), body.get("reason"))
                if body.get("refuse"):
                    connection.behave({"refuse": True})
        elif (method, path) == ("POST", "/live"):
            environment, team = body.pop("environment"), body.pop("team")
            for connection in live:
                if (connection.environment, connection.team) == (environment, team):
                    connection.behave(body)
        elif (method, path) == ("POST", "/heal"):
            peer.behaviours.clear()
            peer.doors.clear()
        elif (method, path) == ("POST", "/forget"):
            peer.requests = [record for record in peer.requests if record["number"] > body["through"]]
        elif (method, path) == ("POST", "/reset"):
            peer.behaviours.clear()
            peer.doors.clear()
            peer.accepted.clear()
            peer.tokens.clear()
            peer.requests.clear()
            peer.numbers = itertools.count(1)
            peer.streams, peer.streams_after_refusal = peer.first_streams, None
        else:
            return None
        return {}


def write_certificates(directory, host):
    """A test CA, which goes into ca.pem, and server certificates. Returns the TLS contexts by the names of doors."""
    now = datetime.datetime.utcnow()

    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def certificate(subject, public, issuer, signer, names):
        is_authority = not names
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject).issuer_name(issuer).public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if is_authority:
            builder = builder.add_extension(
                x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True
            )
        else:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
            )
        return builder.sign(signer, hashes.SHA256())

    def write(file, data):
        path = os.path.join(directory, file)
        with open(path, "wb") as target:
            target.write(data)
        return path

    def make_authority(text):
        key = ec.generate_private_key(ec.SECP256R1())
        return name(text), key, certificate(name(text), key.public_key(), name(text), key, [])

    def make_context(file, names, authority):
        issuer, signer, _ = authority
        key = ec.generate_private_key(ec.SECP256R1())
        chain = certificate(name(host), key.public_key(), issuer, signer, names)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(
            write(file + ".pem", chain.public_bytes(serialization.Encoding.PEM)),
            write(file + "-key.pem", key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )),
        )
        context.sni_callback = lambda socket, name, _: setattr(socket, "server_name", name)
        return context

    own = [x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    authority, stranger = make_authority("livepush test CA"), make_authority("nobody's CA")
    write("ca.pem", authority[2].public_bytes(serialization.Encoding.PEM))
    return {
        None: make_context("server", own, authority),
        "otherName": make_context("other-name", [x509.DNSName("api.example.com")], authority),
        "otherRoot": make_context("other-root", own, stranger),
    }


async def accept(listener, peer, environment, contexts):
    """Takes TCP connections and shows each its door."""
    loop = asyncio.get_running_loop()
    held = []

    async def secure(connection, door):
        try:
            await loop.connect_accepted_socket(
                lambda: Connection(peer, environment, door), connection, ssl=contexts[door.get("tls")]
            )
        except (OSError, ssl.SSLError):
            connection.close()

    while True:
        connection, _ = await loop.sock_accept(listener)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        door = peer.door(environment)
        peer.accepted.append({"environment": environment, "at": time.time(), "door": door})
        if door.get("tls") == "never":
            held.append(connection)
        elif door.get("close"):
            connection.close()
        else:
            asyncio.ensure_future(secure(connection, door))


async def main():
    arguments = argparse.ArgumentParser(description="An APNs for tests.")
    arguments.add_argument("--directory", required=True)
    arguments.add_argument("--key", action="append", required=True, type=Key)
    arguments.add_argument("--streams", type=int, default=1000)
    arguments.add_argument("--host", default="localhost")
    arguments = arguments.parse_args()

    contexts = write_certificates(os.path.abspath(arguments.directory), arguments.host)
    peer = Peer(arguments.key, arguments.streams)
    ports = {"ca": os.path.join(os.path.abspath(arguments.directory), "ca.pem")}
    for environment in ("production", "sandbox"):
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        listener.setblocking(False)
        asyncio.ensure_future(accept(listener, peer, environment, contexts))
        ports[environment] = listener.getsockname()[1]
    control = await asyncio.start_server(Control(peer).serve, "127.0.0.1", 0)
    ports["control"] = control.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 4096) or ended.set())
    await ended.wait()


asyncio.run(main())
