/// One of Apple's two push services. They know different tokens; a port of the simulator plays one of them.
enum APNsEnvironment: String, CaseIterable {
    case production
    case sandbox
}
