#include <http_parser.h>

// Bit fields reach Swift as read-only properties of unclear width; these name the ones that a server decides by.
static inline unsigned int livepush_http_status(const http_parser *parser) { return parser->status_code; }
static inline unsigned int livepush_http_method(const http_parser *parser) { return parser->method; }
static inline unsigned int livepush_http_errno(const http_parser *parser) { return parser->http_errno; }
static inline int livepush_http_is_chunked(const http_parser *parser) { return (parser->flags & F_CHUNKED) != 0; }

// Called in on_headers_complete: the parser would otherwise take what follows the head for another protocol.
static inline void livepush_http_ignore_upgrade(http_parser *parser) { parser->upgrade = 0; }
