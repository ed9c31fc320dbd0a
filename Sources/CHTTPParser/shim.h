#include <http_parser.h>

// Bit fields reach Swift as read-only properties of unclear width; these name the two that a server decides by.
static inline unsigned int livepush_http_status(const http_parser *parser) { return parser->status_code; }
static inline unsigned int livepush_http_method(const http_parser *parser) { return parser->method; }
static inline unsigned int livepush_http_errno(const http_parser *parser) { return parser->http_errno; }
