#pragma once
// One request and its response on a connection of civetweb.

#include <cstdint>
#include <string>

#include "http/message.h"

struct mg_connection;
struct mg_request_info;

namespace doppel::http {

// Everything but params and body. False if the query holds a broken escape.
bool read_head(const mg_request_info& info, Request& request);

enum class Body { whole, too_large, broken };
// Asks a client that waits for it to go on. `broken`: it left, was too slow, or wrote nonsense.
Body read_body(mg_connection* connection, const Request& request, int64_t declared, uint64_t max,
               std::string& body);

// head: without the body, but with its length.
void write_response(mg_connection* connection, const Response& response, const std::string& server,
                    bool head);

// Reads on for a little while, so that a client that is still sending gets to see the response.
void drain(mg_connection* connection, uint64_t bytes);

}  // namespace doppel::http
