import Testing

/// livepush as a whole: the executable, PostgreSQL, and an APNs that shares no code with it. One at a time, since each
/// test runs several processes and some measure time.
@Suite(.serialized, .timeLimit(.minutes(8)))
enum EndToEndTests {}
