public import Gateway
public import HTTPServer

extension ClientAPI {
    /// Answers what would become of a push to a broadcast channel, with nothing sent or written down: as sending does, with
    /// a member `explain`. Every other path is refused, since it sends nothing.
    ///
    /// - Parameter explainer: in place of the lane's gateway and channels.
    public static func explain(
        _ request: HTTPRequest,
        by explainer: any MessageGateway & ChannelExplainer,
    ) async -> HTTPResponse {
        do throws(ClientError) {
            guard route(of: request) == ClientRoute.sendToChannel(id: "").pattern else {
                throw ClientError(.explainNotSupported, "explain: nothing is explained on this path")
            }
            guard case .channels(let order) = try ClientRequest(request, gateway: explainer),
                case .send(let message) = order.operation
            else { throw ClientError(.explainNotSupported, "explain: nothing is explained on this path") }
            do throws(ChannelFault) {
                return ClientAnswer.explanation(try await explainer.explain(order, sending: message))
            } catch {
                throw ClientError(error)
            }
        } catch {
            return error.response
        }
    }
}
