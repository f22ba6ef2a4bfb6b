#pragma once
// Reads a request from a connection of civetweb and writes its response.

#include <cstdint>
#include <string>

#include "http/message.h"

struct mg_connection;
struct mg_request_info;

namespace doppel::http {

// Fills `request` except params and body. False if the query contains an invalid escape.
bool read_head(const mg_request_info& info, Request& request);

enum class Body { whole, too_large, broken };
// Reads the body; sends "100 Continue" if the client expects it. `broken`: the client disconnected, was too
// slow, or sent an invalid body.
Body read_body(mg_connection* connection, const Request& request, int64_t declared, uint64_t max,
               std::string& body);

// With `head` it omits the body, but not its length.
void write_response(mg_connection* connection, const Response& response, const std::string& server,
                    bool head);

// Reads up to `bytes` of the body and discards them, so that a client that is still sending sees the
// response.
void drain(mg_connection* connection, uint64_t bytes);

}  // namespace doppel::http
