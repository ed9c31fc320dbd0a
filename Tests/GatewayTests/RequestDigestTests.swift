import Testing
import VerbatimJSON

@testable import Gateway

@Suite("The digest of a request", .timeLimit(.minutes(5)))
struct RequestDigestTests {
    private func digest(_ write: (inout RequestDigest.Input) -> Void) -> RequestDigest {
        RequestDigest(write)
    }

    private func digest(json: String) throws -> RequestDigest {
        let value = try JSONDocument(parsing: Array(json.utf8)).root
        return RequestDigest { $0.add(value) }
    }

    @Test("fields do not run together, and an absent one is not an empty one")
    func boundaries() {
        let absent: String? = nil
        let noNumber: Int64? = nil
        let digests = [
            digest { input in
                input.add("ab")
                input.add("c")
            },
            digest { input in
                input.add("a")
                input.add("bc")
            },
            digest { $0.add("abc") },
            digest { $0.add(["ab", "c"]) },
            digest { $0.add(["abc"]) },
            digest { $0.add([]) },
            digest { $0.add("") },
            digest { $0.add(absent) },
            digest { $0.add(0) },
            digest { input in
                input.add(noNumber)
                input.add(0)
            },
            digest { input in
                input.add(0)
                input.add(noNumber)
            },
        ]
        #expect(Set(digests).count == digests.count)
        #expect(digests.allSatisfy { $0.bytes.count == 32 })
    }

    @Test(
        "a value that is encoded again in another way is the same",
        arguments: [
            #"{"b":[1,true,null,"é/"],"a":{"x":1,"y":"2"}}"#,
            #" { "a" : {"y": "2", "x": 1}, "b" : [1, true, null, "\u00e9\/"] } "#,
        ]
    )
    func encodedAgain(json: String) throws {
        #expect(try digest(json: json) == digest(json: #"{"a":{"x":1,"y":"2"},"b":[1,true,null,"é/"]}"#))
    }

    @Test(
        "a value that says something else is another",
        arguments: [
            (#"{"a":1}"#, #"{"a":"1"}"#), (#"{"a":1}"#, #"{"a":1.0}"#), (#"{"a":1}"#, #"{"A":1}"#),
            (#"[1,2]"#, #"[2,1]"#), (#"[[1],2]"#, #"[[1,2]]"#), (#"{"a":{"b":1}}"#, #"{"a":{},"b":1}"#),
            (#"["a","b"]"#, #"{"a":"b"}"#), (#""null""#, "null"), ("true", "false"), ("{}", "[]"), (#"[]"#, #"[null]"#),
            (#"["é"]"#, "[\"e\u{301}\"]"),
        ]
    )
    func another(left: String, right: String) throws {
        #expect(try digest(json: left) != digest(json: right))
    }
}
