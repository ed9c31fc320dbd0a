/// Scripts for Debian's python3-aioapns and python3-h2. Each reads the ports from the environment.
enum PythonClients {
    /// Arguments: key file, token, number of pushes one after the other.
    static let aioapns = #"""
        import asyncio, os, ssl, sys, time
        from aioapns import APNs, NotificationRequest, PushType
        from aioapns.connection import APNsProductionClientProtocol as Protocol

        Protocol.APNS_SERVER = "localhost"
        Protocol.APNS_PORT = int(os.environ["P"])

        async def main(key, token, count):
            context = ssl.create_default_context(cafile="ca.pem")
            context.set_alpn_protocols(["h2"])
            apns = APNs(key=key, key_id="ABC123DEFG", team_id="DEF123GHIJ",
                        topic="com.ex.app.push-type.liveactivity", ssl_context=context)
            for number in range(count):
                aps = {"timestamp": int(time.time()) + number, "event": "update", "content-state": {"n": number}}
                result = await apns.send_notification(NotificationRequest(
                    device_token=token, message={"aps": aps}, push_type=PushType("liveactivity"), priority=10))
                if not result.is_successful:
                    print(result.status, result.description)
                    return
            print("200", count, "times")

        import aioapns.common
        asyncio.get_event_loop().run_until_complete(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
        """#

    /// Opens streams 1 and 3 at once, then 5 and 7 at once. Arguments: provider token, device token.
    static let streams = #"""
        import os, socket, ssl, sys
        import h2.connection, h2.events, h2.config

        context = ssl.create_default_context(cafile="ca.pem")
        context.set_alpn_protocols(["h2"])
        connection = context.wrap_socket(socket.create_connection(("localhost", int(os.environ["P"])), 5),
                                         server_hostname="localhost")
        session = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        session.initiate_connection()
        body = b'{"aps":{"alert":"a"}}'

        def send(*streams):
            for stream in streams:
                session.send_headers(stream, [
                    (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
                    (":path", "/3/device/" + sys.argv[2]), ("authorization", "bearer " + sys.argv[1]),
                    ("apns-topic", "com.ex.app")])
                session.send_data(stream, body, end_stream=True)
            connection.sendall(session.data_to_send())
            ended = {}
            while len(ended) < len(streams):
                data = connection.recv(65536)
                if not data:
                    print("closed")
                    sys.exit()
                for event in session.receive_data(data):
                    if isinstance(event, h2.events.ResponseReceived):
                        ended[event.stream_id] = dict(event.headers)[":status"]
                    elif isinstance(event, h2.events.StreamReset):
                        ended[event.stream_id] = "reset %d" % event.error_code
                connection.sendall(session.data_to_send())
            for stream in sorted(ended):
                print(stream, ended[stream])

        send(1, 3)
        send(5, 7)
        """#

    /// Sends bytes that are no HTTP/2, half frames, and frames that are wrong, each on a connection of its own.
    static let garbage = #"""
        import os, random, socket, ssl

        port = int(os.environ["P"])
        random.seed(1)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = b"\0\0\0\4\0\0\0\0\0"

        def frame(kind, flags, stream, payload, length=None):
            length = len(payload) if length is None else length
            return length.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

        def plain(data):
            with socket.create_connection(("localhost", port), 5) as connection:
                connection.sendall(data)

        def secure(data, alpn=("h2",), waits=True):
            context = ssl.create_default_context(cafile="ca.pem")
            if alpn:
                context.set_alpn_protocols(list(alpn))
            try:
                with socket.create_connection(("localhost", port), 5) as raw:
                    with context.wrap_socket(raw, server_hostname="localhost") as connection:
                        connection.sendall(data)
                        while waits and connection.recv(65536):
                            pass
            except (ssl.SSLError, ConnectionError):
                pass

        for data in [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", random.randbytes(5000)]:
            plain(data)
        secure(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        secure(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", alpn=None)
        secure(b"", alpn=("http/1.1",))
        secure(preface + frame(0, 0, 1, b"data on an idle stream"))
        secure(preface + settings + frame(1, 5, 1, random.randbytes(50)))
        secure(preface + settings + frame(1, 5, 2, b"\x82"))
        secure(preface + settings + frame(4, 0, 0, b"12345"))
        secure(preface + settings + 2 * frame(4, 1, 0, b""))
        secure(preface + settings + frame(8, 0, 0, b"\0\0\0\0"))
        secure(preface + settings + frame(0, 0, 1, b"", length=0xFFFFFF))
        secure(preface + settings + frame(1, 4, 1, b"\x83", length=1000), waits=False)
        secure(preface[:10], waits=False)
        for _ in range(40):
            frames = b"".join(
                frame(random.randrange(12), random.randrange(256), random.randrange(8), random.randbytes(random.randrange(60)))
                for _ in range(6))
            secure(preface + settings + frames, waits=False)
            secure(preface + random.randbytes(200), waits=False)
            secure(random.randbytes(200), waits=False)
        print("alive")
        """#
}
