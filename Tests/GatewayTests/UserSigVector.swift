import Testing

@testable import Gateway

/// A UserSig that some generator made, with what it says.
struct UserSigVector: Sendable, CustomTestStringConvertible {
    var name: String
    var secretKey: [UInt8]
    var sdkAppID: Int64
    var identifier: String
    var expire: Int64
    var userbuf: String?
    var signature: String
    var text: String

    var testDescription: String { name }

    /// Verifies against what it says, or against what is given instead.
    func verify(
        identifier: String? = nil,
        sdkAppID: Int64? = nil,
        secretKey: [UInt8]? = nil,
        now: Int64 = 1_700_000_000,
    ) throws(UserSigError) {
        try UserSig.verify(
            text,
            identifier: identifier ?? self.identifier,
            sdkAppID: sdkAppID ?? self.sdkAppID,
            secretKey: secretKey ?? self.secretKey,
            now: now,
        )
    }

    /// Made up.
    static let keyA = Array(String(repeating: "0123456789abcdef", count: 4).utf8)
    /// The sample key that the official packages print.
    static let keyB = Array("5bd2850fff3ecb11d7c805251c51ee463a25727bddc2385f3fa8bfee1bb93b5e".utf8)

    static let a1 = UserSigVector(
        name: "A1",
        secretKey: keyA,
        sdkAppID: 1_400_000_000,
        identifier: "administrator",
        expire: 604_800,
        signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
        text: """
            eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkElNyM-Myi0uKEkvyi2BKilOyEwsKMlOACgxNDKAAKpdaUZBZlAqU\
            MTMwsYCLlmTmgsQMzdFUF2emg2xxztOOKgkqCgn2CDUJMMgIDqpIKfX3TElzN7b0r9IPCzWJTM0MME02dPXztVWqBQBqBTUX
            """,
    )

    /// Made by PyPI `tls-sig-api-v2` 1.1 at 1700000000.
    static let published = [
        a1,
        UserSigVector(
            name: "A2",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "alice",
            expire: 86_400,
            signature: "C78cR74h3kkb5ZIN2XIXoqDT14tpVlkxMQ2brG+aA0c=",
            text: """
                eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkEnMyk1NhUsUp2YkFBZkpQAlDEwMogMqlVhRkFqUCZSzMTOCCJZm5\
                ICFDczTFxZnpIMOdzS2Sg8xNMoyzs5NMozz9jCI8I-ILXUIMTUoKwnKyK3wDjZKK3LUTHQ2SbZVqAeBYMTs_
                """,
        ),
        UserSigVector(
            name: "A3",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            userbuf: "YWJj",
            signature: "rCtveczfs9jBnld2FmM/Rr4gt6W+BLhelZ9zG5ChdhI=",
            text: """
                eJxdjcEKgkAURX9FZluYilkGbRSKwjYVSO2m5qnP1OTNKGH072mZi*7ynAP3yY7BQa*B2EJjlm6wsfYhKKBQGOFXcJFjgVIR\
                V3f6JVLceFmiaAPTNvr1Dh4lErTGMez5QBXmHTNnf3UlgS5V1D2dwm06HGDcIfJVDdcmkm7qFZmwVvlusic7Vk448oIEsrPb\
                rKd*IpLNkr3ejmQ8zw__
                """,
        ),
        UserSigVector(
            name: "A4",
            secretKey: keyA,
            sdkAppID: 1_400_000_001,
            identifier: "administrator",
            expire: 604_800,
            signature: "PTjd3VxzAYh2p7bWfHeav1U06aJzY2+ppP1+DLLE4hE=",
            text: """
                eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkElNyM-Myi0uKEkvyi2BKilOyEwsKMlOACgxNDCDAECqXWlGQWZQK\
                lDEzMLEwMICKlmTmgsQMzaGqYeLFmekgWwJCslKMwyqqHCMzjArMk8LTPFITywxDDcwSvaoijbQLCgIMtV18fFxNMlxtlWoB\
                cDs1CA__
                """,
        ),
        UserSigVector(
            name: "B1",
            secretKey: keyB,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "k15OUkRWhajQMFUVpK03o9AYZL1+QR4YCsLYQolWR7M=",
            text: """
                eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkElNyM-Myi0uKEkvyi2BKilOyEwsKMlOACgxNDKAAKpdaUZBZlAqU\
                MTMwsYCLlmTmgsQMzdFUF2emg2zJNjT1D80OCs9IzAr0dQsNK-A2MM63dIyM8jHUDgwyiXQu9okMzM8JDzL3tVWqBQBfSTTY
                """,
        ),
        UserSigVector(
            name: "B2",
            secretKey: keyB,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 15_552_000,
            userbuf: "YWJj",
            signature: "yDVc12SkgXuplplV7z5AjCASLu0vfTxmBwKDm6d34Rs=",
            text: """
                eJxdjc0KgkAYRV9FZh2i5iQELSxX5SrFajk1o3zq2DA-ZkXvXpoVdJfnHLh3lMaJ3TKJ5hbybAdNrIEAZY2GHN6CUA4NKC2J\
                PstPomhFhAD6ClzfGTc61gmQrDcYY*-HNfCBBn*9UUweTd5-HXbr8nsBRY*uUXZyvaQq9kbUos6CGw7LVZjExmnztOPLyybi\
                Mzr1t2qBHk-oNj0Y
                """,
        ),
        UserSigVector(
            name: "B3",
            secretKey: keyB,
            sdkAppID: 1_400_000_000,
            identifier: "用户1",
            expire: 86_400,
            signature: "EiUTfI8HLCNnZsuiu9xlgaO94OoMFPME05UYVTADjzA=",
            text: """
                eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkYkrNTY0sYkrNjIzNDWFKilOyEwsKMlOACgxNDKAAKpdaUZBZlAqU\
                sTAzgQuWZOaChAzN0RQXZ6aDLHHNDA1J87Tw8HH2y4sqLs0stazISU-0tzTxz-d1C-B1NTANjQwLcXTJqnK0VaoFACp1Mz0_
                """,
        ),
        UserSigVector(
            name: "B4",
            secretKey: keyB,
            sdkAppID: 1_400_000_000,
            identifier: "alice",
            expire: 60,
            signature: "m+cn/L9/ylxcl08ExoVbSAjDOAOuEmjAEvfLWMfBqY0=",
            text: """
                eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkEnMyk1NhUsUp2YkFBZkpQAlDEwMogMqlVhRkFqUCZcxgIiWZuSC*\
                oTmayuLMdJDJudrJefo*lvqVORXJOQYWrhX5YUnBjlku-o7*pa65WY6uZWk*4b5pToWRBrZKtQB5HDFi
                """,
        ),
    ]

    /// A1 in other words: key order, blanks, escapes and compression as the other generators leave them.
    static let shapes = [
        UserSigVector(
            name: "Go: keys by alphabet, no final block",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eJyqVgrxCdZLrSjILEpVsjIzMLEwMNABi2WmpOaVZKZlphYpWSklpuRm5mUWlxQlluQXKUEUFKdkJxYUZKYoWRmaGEABVCYz\
                HajHOU87qiSoKCTYI9QkwCAjOKgipdTfMyXN3djSv0o-LNQkMjUzwDTZ0NXP1xZqZElmLtAVhuaoxpWBnWCkZ6BUCwAAAP--
                """,
        ),
        UserSigVector(
            name: "Go: stored, no final block",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eAEArwBQ-3siVExTLmV4cGlyZSI6NjA0ODAwLCJUTFMuaWRlbnRpZmllciI6ImFkbWluaXN0cmF0b3IiLCJUTFMuc2RrYXBw\
                aWQiOjE0MDAwMDAwMDAsIlRMUy5zaWciOiJDbitadFJyVFNIVTRQMGhTUnhkdU9JZGZHMzlPei9WVTRZZWlQNWMxRU5NPSIs\
                IlRMUy50aW1lIjoxNzAwMDAwMDAwLCJUTFMudmVyIjoiMi4wIn0AAAD--w__
                """,
        ),
        UserSigVector(
            name: "PHP: slashes escaped",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eJyrVgrxCdYrSy1SslIy0jNQ0gHzM1NS80oy0zLBwokpuZl5mcUlRYkl*UVQBcUp2YkFBZkpSlaGJgZQAJFJrSjILEpVsjIz\
                MLGAiZVk5gJFDM1RVRZnpgNNd87TjioJKgoJ9gg1CTDICA6qSCn190xJcze29K*K0Q8LNYlMzQwwTTZ09fO1VaoFABwSNBM_
                """,
        ),
        UserSigVector(
            name: "Java: hash order, best compression",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eNqrVgrxCdYrzkxXslJyztOOKgkqCgn2CDUJMMgIDqpIKfX3TElzN7b0r9IPCzWJTM0MME02dPXztVXSAWssSy0CajTSM4Dy\
                UysKMotSlazMDEwsDAwgYsUp2YkFBZkpSlaGJgZQAJEpycwFqjU0RxXNTEnNK8lMywQbnZiSm5mXWVxSlFiSX6RUCwCXOjO3
                """,
        ),
        UserSigVector(
            name: "Node",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eJyrVgrxCdYrSy1SslIy0jNQ0gHzM1NS80oy0zLBwokpuZl5mcUlRYkl*UVQBcUp2YkFBZkpSlaGJgZQAJEpycxNVbIyNEcV\
                Ta0oyCxKVbIyMzCxgIkVZ6YrWSk552lHlQQVhQR7hJoEGGQEB1WklPp7pqS5G1v6V*mHhZpEpmYGmCYbuvr52irVAgDYqjO3
                """,
        ),
        UserSigVector(
            name: "Node: stored",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eAEBrwBQ-3siVExTLnZlciI6IjIuMCIsIlRMUy5pZGVudGlmaWVyIjoiYWRtaW5pc3RyYXRvciIsIlRMUy5zZGthcHBpZCI6\
                MTQwMDAwMDAwMCwiVExTLnRpbWUiOjE3MDAwMDAwMDAsIlRMUy5leHBpcmUiOjYwNDgwMCwiVExTLnNpZyI6IkNuK1p0UnJU\
                U0hVNFAwaFNSeGR1T0lkZkczOU96L1ZVNFllaVA1YzFFTk09In3YqjO3
                """,
        ),
        UserSigVector(
            name: "blanks, escapes and an unknown key, fastest compression",
            secretKey: keyA,
            sdkAppID: 1_400_000_000,
            identifier: "administrator",
            expire: 604_800,
            signature: "Cn+ZtRrTSHU4P0hSRxduOIdfG39Oz/VU4YeiP5c1ENM=",
            text: """
                eAE9jl0LAUEYRq9t*Q-Te2tihrGYciWhsLJW*bqQmeVNu7Yxq438d5qV5-bUOc-LIwRW07BuMdFAJOEd9hutehWH7ngGCYO0\
                trVLswrHkViwS7gsVB5MVDxq9YJnYx2JjcZF*8SH81kfCC2tusjQaJA*E13GqNPpwpojyB2nr-eBemVCXY9ZhgokF-**I6h0\
                ajFGbb4f9jljPlcJpnj-SuzNQOl8ONysM3h7HwGHO*g_
                """,
        ),
    ]

    /// Made at 1800000000.
    static let future = UserSigVector(
        name: "future",
        secretKey: keyA,
        sdkAppID: 1_400_000_000,
        identifier: "administrator",
        expire: 604_800,
        signature: "",
        text: """
            eJxdjcEKAiEURX9lcB2jhpQELSuIaKOrdpImLx0zlWkg*veyphbd5TkH7h3JnWh7k9CiQdOWoEnzJqBNKHCCj1C6gwC5JFUu\
            6Ztk7VSMoF8BZWTc6Ap0pnL*x80QIVUzI4z-aAZbX7bYeSeEPwzYltVaHw2mgV8Z5XJuJd-n881nZ*Omz0v0eAJmjTYt
            """,
    )

    /// Made at the last second that 64 bits can count.
    static let overflow = UserSigVector(
        name: "overflow",
        secretKey: keyA,
        sdkAppID: 1_400_000_000,
        identifier: "administrator",
        expire: 604_800,
        signature: "",
        text: """
            eJw1jT0PgjAYhP9LZ0NqvyVx6mIMERTCwNZIxTcK1tKgxvjfJYi33XOXuzcqkjwarEcxIhFGi8lDbbsAJ5iwqVvooA-ehJuf\
            C319Mc5BjeIlw7N*iX068BbFAjP1ZwHakawIoVQSTIXiTEqusJzHoBlvMsa291JRrUWFj4N4NY9NqXcHwjNdnHlSmTxxMkvT\
            636NPl96*DUr
            """,
    )

    static let malformed: [(String, String)] = [
        (
            "inflates to 200 KB",
            """
            eJztzE1LAlEYBeC-Indb2FjTl9AqooJKcTQo2gzdsS6hycwUUvTfE7NFy-bPs3vPObydDgAAAAAAAAAAAAAAAAAAAAAAAAAA\
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADwX59hfFV036s69MNuNwvb6zvFat6maVrHZZyleWraumxf682giS-lYpFi\
            6PfybOOnqZaLVFehf5DlR79Zm2arpHf4d9mkp9X30-nWfTuqx8XFJB9mz8VoGd8Gl3F6vnc8*HjYuZ3kd1Ua7j-2zm6uT8LX\
            Nx9C4cI_
            """
        ),
        (
            "wrong checksum",
            """
            eJyrVgrxCdYrSy1SslIy0jNQ0gHzM1NS80oy0zLBwokpuZl5mcUlRYkl*UVQBcUp2YkFBZkpSlaGJgZQAJFJrSjILEpVsjIz\
            MLGAiZVk5gJFDM1RVRZnpgNNd87TjioJKgoJ9gg1CTDICA6qSCn190xJcze29K*K0Q8LNYlMzQwwTTZ09fO1VaoFABwSNAA_
            """
        ),
        (
            "something behind the stream",
            """
            eJyrVgrxCdYrSy1SslIy0jNQ0gHzM1NS80oy0zLBwokpuZl5mcUlRYkl*UVQBcUp2YkFBZkpSlaGJgZQAJFJrSjILEpVsjIz\
            MLGAiZVk5gJFDM1RVRZnpgNNd87TjioJKgoJ9gg1CTDICA6qSCn190xJcze29K*K0Q8LNYlMzQwwTTZ09fO1VaoFABwSNBN4
            """
        ),
        (
            "a sync flush cut short",
            """
            eJyqVgrxCdZLrSjILEpVsjIzMLEwMNABi2WmpOaVZKZlphYpWSklpuRm5mUWlxQlluQXKUEUFKdkJxYUZKYoWRmaGEABVCYz\
            HajHOU87qiSoKCTYI9QkwCAjOKgipdTfMyXN3djSv0o-LNQkMjUzwDTZ0NXP1xZqZElmLtAVhuaoxpWBnWCkZ6BUCwAAAP8_
            """
        ),
        (
            "JSON, but no object",
            """
            eJyLNowFAAHTAOo_
            """
        ),
        (
            "no TLS.sig",
            """
            eJyrVgrxCdYrSy1SslIy0jNQ0gHzM1NS80oy0zLBwokpuZl5mcUlRYkl*UVQBcUp2YkFBZkpSlaGJgZQAJFJrSjILEpVsjIz\
            MLGAiZVk5gJFDM1hKmsBVMsiWA__
            """
        ),
        (
            "line breaks in userbuf forge bob out of another name",
            """
            eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkkvKTYBLFKdmJBQWZKUBhQxMDKIDKlWTmpoLEodzUioLMIpCAJRxA\
            ZUqLU4uSStNARlfE5CEba4UwFCIBMtPK0BxVEGKylZmBiYUB3MnFmekgA4Msc-INI018TDKdAkNMzRLdCytDqzz9A9zc9LON\
            wjIzy3LMEx3Lo9xK-fJtlWoB1UhJMw__
            """
        ),
        (
            "line breaks in the identifier",
            """
            eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkkvKTYvJAwsUp2YkFBZkpVoYmBlAAkSjJzE21MoSwUysKMotSrSzh\
            ACJcWpxalFSaZlUBswNmGNAGhHFQOZB5IHFzNHGI2UAZMwMTC7hocWY6yJlBljn5hpEmPiaZToEhpmaJ7oWVoVWe-gFubvrZ\
            RmGZmWU55omO5VFupX75tkq1ABIoSQk_
            """
        ),
        (
            "an identifier of 129 bytes",
            """
            eJyrVgrxCdYrSy1SslJQMtIzUNJRAItkpqTmlWSmZUIkKgYawJxVnJKdWFCQmQJ0lKGJARRA5Uoyc1NB4uZo4qkVBZlFIBkz\
            AxMLuGhxZjrIZwXBfhb*PqZRuSWhhqWOeWUhPslOninu3pZ*FoFeQfmu-l4BRZnaoRXpiYG2SrUAZWNsaw__
            """
        ),
        ("not zlib", "AAAA"),
        ("not base64", "@@@@"),
        ("only padding", "____"),
    ]
}
