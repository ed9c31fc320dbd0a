import PostgresClient
import TestSupport
import Testing

@Suite("The sequence of an installation", .serialized, .timeLimit(.minutes(5)))
struct SequenceTests {
    private func put(_ phone: Phone, _ kind: String, _ token: Int, _ sequence: Int64?, more: String = "") async throws
        -> Answer
    {
        kind == "device"
            ? try await phone.putDevice(token: Phone.token(token), sequence: sequence, more: more)
            : try await phone.putActivity(token: Phone.token(token), sequence: sequence, more: more)
    }

    private func stored(_ phone: Phone, _ kind: String) throws -> String {
        try phone.rows("encode(token, 'hex'), sequence", of: kind == "device" ? "device" : "live_activity")
    }

    @Test("a registration counts by its sequence", arguments: ["device", "activity"])
    func registrations(kind: String) async throws {
        try await Phone.run { _, phone async throws in
            #expect(try await put(phone, kind, 1, 5).applied == true)
            #expect(try await put(phone, kind, 1, 5).applied == true, "the same again is idempotent")
            #expect(
                try await put(phone, kind, 1, 5, more: ",\"appVersion\":\"2\"").isStale,
                "the same number, other content"
            )
            #expect(try await put(phone, kind, 2, 5).isStale)
            #expect(try await put(phone, kind, 2, 4).isStale)
            #expect(try stored(phone, kind) == "\(Phone.token(1))|5")
            #expect(try await put(phone, kind, 2, 6).applied == true)
            #expect(try stored(phone, kind) == "\(Phone.token(2))|6")
            #expect(
                try await put(phone, kind, 3, nil).applied == true,
                "without a sequence the order of arrival counts"
            )
            #expect(try stored(phone, kind) == "\(Phone.token(3))|6", "and the known one stays")
            #expect(try await put(phone, kind, 4, 5).isStale)
            #expect(try await put(phone, kind, 4, 0).isStale)
        }
    }

    @Test("sequences are compared per row")
    func perRow() async throws {
        try await Phone.run { _, phone async throws in
            #expect(try await phone.putActivity("order-1", token: Phone.token(1), sequence: 9).applied == true)
            #expect(try await phone.putActivity("order-2", token: Phone.token(2), sequence: 8).applied == true)
            #expect(try await phone.putDevice(sequence: 7).applied == true)
            #expect(
                try await phone.putActivity("order-1", "phone-2", token: Phone.token(3), sequence: 1).applied == true
            )
        }
    }

    @Test("a late registration does not resurrect what was cleared")
    func lateRegistration() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putActivity("order-1", token: Phone.token(1), sequence: 1)
            _ = try await phone.putActivity("order-2", token: Phone.token(2), sequence: 2)
            #expect(try await phone.delete("activities/order-1?installation=phone-1", sequence: 5).cleared == 1)
            #expect(try await phone.putActivity("order-1", token: Phone.token(3), sequence: 4).isStale)
            #expect(try await phone.putActivity("order-1", token: Phone.token(3), sequence: 5).isStale)
            #expect(try await phone.putActivity("order-2", token: Phone.token(4), sequence: 4).applied == true)
            #expect(try await phone.putActivity("order-1", token: Phone.token(3), sequence: 6).applied == true)

            #expect(try await phone.delete("activities?installation=phone-1", sequence: 7).cleared == 2)
            #expect(try await phone.putActivity("order-2", token: Phone.token(4), sequence: 6).isStale)
            #expect(try await phone.putActivity("order-9", token: Phone.token(5), sequence: 6).isStale)
            #expect(try await phone.putDevice(sequence: 6).applied == true, "clear-all does not touch the device")

            #expect(try await phone.delete("devices/phone-1", sequence: 8).cleared == 1)
            #expect(try await phone.putDevice(sequence: 7).isStale)
            #expect(try await phone.putActivity("order-1", sequence: 7).isStale)
            #expect(try await phone.putDevice(sequence: 9).applied == true)
        }
    }

    @Test("a clear that overtakes its registration is remembered, for 24 hours")
    func memory() async throws {
        try await Phone.run { _, phone in
            #expect(try await phone.delete("activities/order-1?installation=phone-1", sequence: 5).cleared == 0)
            #expect(try await phone.putActivity(sequence: 4).isStale)
            try phone.sql(
                "UPDATE registration_clear SET cleared_at = now() - interval '25 hours' WHERE sdk_app_id = APP"
            )
            #expect(try await phone.putActivity(sequence: 4).applied == true)
            #expect(try await phone.delete("activities/order-2?installation=phone-1", sequence: 6).cleared == 0)
            #expect(try phone.rows("la_id", of: "registration_clear") == "order-2", "old memories are purged")
        }
    }

    @Test("a registration waits for a clear of its installation that is under way")
    func clearUnderWay() async throws {
        try await Phone.run(connections: 2) { lane, phone in
            let clear = PostgresStatement(
                "SELECT cleared FROM clear_registrations($1, 'alice', 'phone-1', NULL, false, 5)",
                [.integer(phone.sdkAppID)],
            )
            let pause = PostgresStatement(
                """
                DO $$ BEGIN
                    WHILE NOT EXISTS (SELECT FROM account WHERE account = 'the clear goes on') LOOP
                        PERFORM pg_sleep(0.02);
                    END LOOP;
                END $$
                """
            )
            let clearing = Task {
                _ = lane
                return try await phone.pool.run([clear, pause])
            }
            func wait(for event: String) async throws {
                let waiting =
                    "SELECT count(*) FROM pg_stat_activity WHERE \(event) AND datname = current_database()"
                while try phone.sql(waiting) == "0" {
                    await Task.yield()
                }
            }
            try await wait(for: "query LIKE '%the clear goes on%' AND wait_event = 'PgSleep'")
            let registering = Task {
                _ = lane
                return try await phone.putActivity(sequence: 4).isStale
            }
            try await wait(for: "query LIKE '%register_activity%' AND wait_event_type = 'Lock'")
            try phone.sql("INSERT INTO account (sdk_app_id, account) VALUES (APP, 'the clear goes on')")
            #expect(try await registering.value)
            _ = try await clearing.value
        }
    }

    @Test("without a sequence a registration after a clear registers anew")
    func arrivalOrder() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putActivity()
            #expect(try await phone.delete("activities/order-1?installation=phone-1").cleared == 1)
            #expect(try await phone.delete("activities/order-1?installation=phone-1").cleared == 0)
            #expect(try await phone.putActivity().applied == true)
            #expect(try await phone.delete("activities?installation=phone-1", sequence: 5).cleared == 1)
            #expect(try await phone.putActivity().applied == true)
        }
    }

    @Test("a late clear of one activity changes nothing")
    func lateClear() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putActivity(sequence: 5)
            for sequence in [4, 5] as [Int64] {
                let answer = try await phone.delete("activities/order-1?installation=phone-1", sequence: sequence)
                #expect(answer.isStale)
                #expect(answer.cleared == 0)
            }
            #expect(try phone.rows("la_id", of: "live_activity") == "order-1")
        }
    }

    @Test("clear-all and log-out touch only rows with a lower sequence or none")
    func lowerRows() async throws {
        try await Phone.run { _, phone in
            _ = try await phone.putActivity("order-1", token: Phone.token(1), sequence: 1)
            _ = try await phone.putActivity("order-2", token: Phone.token(2), sequence: 6)
            _ = try await phone.putActivity("order-3", token: Phone.token(3))
            #expect(try await phone.delete("activities?installation=phone-1", sequence: 6).cleared == 2)
            #expect(try phone.rows("la_id", of: "live_activity") == "order-2")

            _ = try await phone.putDevice(sequence: 8)
            #expect(try await phone.delete("devices/phone-1", sequence: 7).cleared == 1)
            #expect(try phone.rows("sequence", of: "device") == "8")
            #expect(try await phone.delete("devices/phone-1").cleared == 1)
        }
    }
}
