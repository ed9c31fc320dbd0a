#!/usr/bin/python3
"""A small APNs on Python's h2 for the tests of the HTTP/2 client: it misbehaves on demand.

    http2_peer.py CERTIFICATE KEY

It listens on a free port of 127.0.0.1, prints {"port": N}, and then a line of JSON for each connection, request and
problem. Each line on its standard input is an object whose members replace those of DEFAULTS for what comes later; it
answers {"ready": true}. It ends when standard input closes.
"""
import collections
import json
import socket
import ssl
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame, SettingsFrame

MAX_CONCURRENT_STREAMS = 3
REFUSED_STREAM = 7
STREAM_CLOSED = 5
DEFAULTS = {
    "streams": 1000,            # announced with the first answer; before that it is 1
    "lowerTo": None,            # announced after `lowerAfter` answers
    "lowerAfter": 1,
    "answers": [],              # [status, reason] of the next requests, then 200
    "always": None,             # [status, reason] of every request
    "byToken": {},              # token -> [status, reason] of all its requests
    "wedge": False,             # after a 403 a connection answers everything with it
    "hold": 0.0,                # seconds of quiet before answers go out, so that streams pile up
    "silentTokens": [],         # tokens that get no answer
    "swallow": False,           # read nothing any more
    "resetTokens": {},          # token -> code of RST_STREAM instead of an answer, once
    "refuseAfter": None,        # with this request of a connection on, refuse all
    "goAwayAfter": None,        # GOAWAY after so many requests of the first connection; what came later is left out
    "goAwayReason": None,
    "goAwayInsteadOfSettings": False,
    "noSettings": False,
    "dropAfter": None,          # close TCP, without close_notify, after so many requests of a connection
    "expireInFlight": None,     # with so many open: 403 for one, SETTINGS 1, RST 7 and 5 for the others; once
    "channels": 0,              # how many ids a list of channels has
    "noALPN": False,
    "noHandshake": False,
}
options = dict(DEFAULTS)
lock = threading.Lock()


def say(**members):
    with lock:
        sys.stdout.write(json.dumps(members) + "\n")
        sys.stdout.flush()


class Connection:
    def __init__(self, raw, context, number):
        self.raw, self.context, self.number = raw, context, number
        self.open = collections.OrderedDict()
        self.requests = self.answered = self.most_open = 0
        self.limit = self.announced = 1
        self.refused_reason, self.went_away = None, False
        self.waiting = []
        self.bodies = {}

    def run(self):
        if options["noHandshake"]:
            self.raw.recv(1)
            time.sleep(60)
            return
        try:
            self.socket = self.context.wrap_socket(self.raw, server_side=True, suppress_ragged_eofs=True)
        except (ssl.SSLError, OSError) as error:
            say(problem="TLS: " + str(error.reason if isinstance(error, ssl.SSLError) else error))
            return
        say(connection=self.number, alpn=self.socket.selected_alpn_protocol(), tls=self.socket.version())
        if self.socket.selected_alpn_protocol() != "h2":
            self.socket.recv(1)
            return
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding=None))
        # A client that opens too many streams is to be refused them, not disconnected: h2 gets no limit of its own.
        self.http.local_settings._settings[MAX_CONCURRENT_STREAMS] = collections.deque([1 << 30])
        self.http.initiate_connection()
        if options["goAwayInsteadOfSettings"]:
            self.http.data_to_send()
            self.go_away(0)
            return
        if options["noSettings"]:
            time.sleep(60)
            return
        self.flush()
        self.announce(1)
        try:
            self.loop()
        except (OSError, h2.exceptions.ProtocolError) as error:
            say(problem=type(error).__name__ + ": " + str(error), connection=self.number)
        say(closed=self.number, mostOpen=self.most_open, requests=self.requests)

    def loop(self):
        while True:
            self.socket.settimeout(options["hold"] or None)
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                self.answer_all()
                continue
            if options["swallow"]:
                continue
            if not data:
                return
            for event in self.http.receive_data(data):
                if self.handle(event):
                    return
            self.send_bodies()
            if not options["hold"]:
                self.answer_all()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.open[event.stream_id] = (event.headers, bytearray())
            self.most_open = max(self.most_open, len(self.open))
            self.requests += 1
            refuse = options["refuseAfter"] is not None and self.requests >= options["refuseAfter"]
            if refuse or len(self.open) > self.limit:
                self.refuse(event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if event.stream_id in self.open:
                self.open[event.stream_id][1].extend(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            if event.stream_id in self.open:
                self.complete(event.stream_id)
                if options["dropAfter"] is not None and self.requests >= options["dropAfter"]:
                    options["dropAfter"] = None
                    # The end of TCP without TLS's close_notify, as APNs often does it.
                    self.socket.shutdown(socket.SHUT_RDWR)
                    say(dropped=self.number)
                    return True
        elif isinstance(event, h2.events.StreamReset):
            self.open.pop(event.stream_id, None)
            self.waiting = [stream for stream in self.waiting if stream != event.stream_id]
            say(reset=event.stream_id, code=int(event.error_code))
        elif isinstance(event, h2.events.SettingsAcknowledged):
            if self.limit > self.announced:
                self.limit, self.most_open = self.announced, 0
        elif isinstance(event, h2.events.PingReceived):
            say(ping=self.number)
        return False

    def complete(self, stream):
        headers, body = self.open[stream]
        text = {name.decode(): value.decode() for name, value in headers}
        say(
            request=text, connection=self.number, stream=stream, body=bytes(body).decode(),
            names=[name.decode() for name, _ in headers],
            neverIndexed=[header[0].decode() for header in headers if isinstance(header, NeverIndexedHeaderTuple)],
        )
        token = text[":path"].rsplit("/", 1)[1]
        if token in options["silentTokens"]:
            return
        if token in options["resetTokens"]:
            self.http.reset_stream(stream, options["resetTokens"].pop(token))
            self.open.pop(stream)
            self.flush()
            return
        self.waiting.append(stream)
        if options["expireInFlight"] and len(self.waiting) >= options["expireInFlight"]:
            options["expireInFlight"] = None
            self.expire()
        if options["goAwayAfter"] is not None and self.requests >= options["goAwayAfter"] and not self.went_away:
            options["goAwayAfter"] = None
            self.go_away(stream)

    def expire(self):
        first, *others = self.waiting
        self.waiting = []
        self.refused_reason = "ExpiredProviderToken"
        self.answer(first, 403, "ExpiredProviderToken")
        self.announce(1)
        for stream in others:
            self.open.pop(stream, None)
            self.http.reset_stream(stream, REFUSED_STREAM)
            self.flush()
            self.write(bytes([0, 0, 4, 3, 0]) + stream.to_bytes(4, "big") + STREAM_CLOSED.to_bytes(4, "big"))

    def answer_all(self):
        waiting, self.waiting = self.waiting, []
        for stream in waiting:
            status, reason = 200, None
            if self.went_away and stream > self.went_away:
                continue
            if self.refused_reason:
                status, reason = 403, self.refused_reason
            elif self.token(stream) in options["byToken"]:
                status, reason = options["byToken"][self.token(stream)]
            elif options["always"]:
                status, reason = options["always"]
            elif options["answers"]:
                status, reason = options["answers"].pop(0)
                if options["wedge"] and status == 403:
                    self.refused_reason = reason
            self.answer(stream, status, reason)

    def token(self, stream):
        headers, _ = self.open.get(stream, ([], None))
        return dict(headers).get(b":path", b"").decode().rsplit("/", 1)[-1]

    def answer(self, stream, status, reason):
        if stream not in self.open:
            return
        headers, _ = self.open.pop(stream)
        request = dict(headers)
        if b"apns-request-id" in request and reason is None:
            self.answer_channel_request(stream, request)
            return
        apns_id = next(value for name, value in headers if name in (b"apns-id", b"apns-request-id"))
        fields = [(":status", str(status)), ("apns-id", apns_id.decode().upper())]
        self.http.send_headers(stream, fields, end_stream=reason is None)
        if reason is not None:
            body = {"reason": reason}
            if status == 410:
                body["timestamp"] = 1796007172000
            self.http.send_data(stream, json.dumps(body).encode(), end_stream=True)
        self.answered += 1
        if status == 200 and self.answered == 1:
            self.announce(options["streams"])
        if options["lowerTo"] is not None and self.answered >= options["lowerAfter"] and self.announced != options["lowerTo"]:
            self.announce(options["lowerTo"])
            say(lowered=self.announced)
        self.flush()

    def answer_channel_request(self, stream, request):
        method, path = request[b":method"].decode(), request[b":path"].decode()
        fields = [("apns-request-id", request[b"apns-request-id"].decode().upper())]
        status, body = 200, b""
        if path.endswith("/all-channels"):
            body = json.dumps({"channels": ["c%023d" % number for number in range(options["channels"])]}).encode()
        elif path.startswith("/1/") and method == "POST":
            status, fields = 201, fields + [("apns-channel-id", "dHN0LXNyY2gtY2hubA==")]
        elif path.startswith("/1/") and method == "GET":
            body = b'{"message-storage-policy":1,"push-type":"LiveActivity"}'
        elif path.startswith("/1/"):
            status = 204
        self.http.send_headers(stream, [(":status", str(status))] + fields, end_stream=not body)
        self.bodies[stream] = bytearray(body)
        self.answered += 1
        if self.answered == 1:
            self.announce(options["streams"])
        self.send_bodies()

    def send_bodies(self):
        for stream, body in list(self.bodies.items()):
            while body:
                count = min(len(body), self.http.local_flow_control_window(stream), self.http.max_outbound_frame_size)
                if count <= 0:
                    break
                self.http.send_data(stream, bytes(body[:count]), end_stream=count == len(body))
                del body[:count]
            if not body:
                del self.bodies[stream]
        self.flush()

    def refuse(self, stream):
        say(refused=stream, connection=self.number, open=len(self.open), limit=self.limit)
        self.open.pop(stream)
        self.http.reset_stream(stream, REFUSED_STREAM)
        self.flush()

    def announce(self, limit):
        # What the client sent before it could know of a lower limit is not to be refused.
        self.announced = limit
        self.limit = max(self.limit, limit)
        self.flush()
        self.write(SettingsFrame(0, settings={MAX_CONCURRENT_STREAMS: limit}).serialize())

    def go_away(self, last):
        self.went_away = last or 1
        frame = GoAwayFrame(0, last_stream_id=last, error_code=0)
        if options["goAwayReason"]:
            frame.additional_data = json.dumps({"reason": options["goAwayReason"]}).encode()
        self.write(frame.serialize())
        say(goAway=self.number, last=last)

    def flush(self):
        data = self.http.data_to_send()
        if data:
            self.write(data)

    def write(self, data):
        self.socket.settimeout(None)
        self.socket.sendall(data)


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    plain.load_cert_chain(sys.argv[1], sys.argv[2])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def accept():
        number = 0
        while True:
            raw, _ = listener.accept()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number += 1
            connection = Connection(raw, plain if options["noALPN"] else context, number)
            threading.Thread(target=connection.run, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    say(port=listener.getsockname()[1])
    for line in sys.stdin:
        options.update(json.loads(line))
        say(ready=True)


main()
