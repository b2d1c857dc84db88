// Replies and streams as gzip, for clients that say they take it, and "not modified" for what a client has already. A
// list of jobs shrinks to a tenth, and a page may be far away.
#pragma once
#include "http/http_types.h"

namespace smartmig {

// Whether Accept-Encoding names gzip, and not with q=0.
bool takes_gzip(const HttpRequest& request);

// Packs a body of at least a kilobyte, or a stream, and sets Content-Encoding and Vary. Leaves a reply that has a coding.
void pack_reply(const HttpRequest& request, HttpReply& reply);

std::string gzip(std::string_view text, int level);

// Sets ETag from the body; a request whose If-None-Match has it gets 304 without a body.
void tag_reply(const HttpRequest& request, HttpReply& reply);

}  // namespace smartmig
