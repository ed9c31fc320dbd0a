import CLibevent
import Glibc

/// Calls on connected sockets that neither wait nor raise SIGPIPE.
enum SocketCall {
    /// Sends what the kernel takes at once.
    ///
    /// - Returns: how many bytes it took; nil where the connection is broken.
    static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int? {
        let sent = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        guard sent < 0 else { return sent }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }

    /// Whether bytes lie unread in the kernel.
    static func hasUnreadBytes(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }

    /// Reads up to 4 KB and throws them away.
    static func discardUnreadBytes(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { bytes in
            _ = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
        }
    }

    /// Tells the peer that no more bytes will come.
    static func finishWriting(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the close of the socket throw away what the kernel has not sent: it would otherwise keep those bytes for
    /// minutes for a peer that does not read.
    static func discardUnsentBytesOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}
