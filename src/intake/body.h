#pragma once
// What all ways to insert documents by HTTP share: routes, bodies, which the readers of files read, and
// answers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "formats/decoder.h"
#include "http/message.h"
#include "http/server.h"
#include "pipeline/stream.h"

namespace doppel {

// Most documents of a request. They make one batch, because a request is inserted whole or not at all.
inline constexpr size_t kInsertedMost = 100'000;

// Whether a body of this type has a document in each line.
bool is_lines(std::string_view content_type);
// Whether a body of this type has one document in JSON, or one in each line.
bool is_json(std::string_view content_type);
// Whether a page in a browser, of another site, sends this request. It cannot hide that it does.
bool is_from_a_page(const http::Request& request);
// The line of the answer for a document that cannot be read, without the end of the line.
std::string rejected_line(uint64_t line, std::string_view reason, int status = 422);

// Adds the documents of a body to `batch`, in order; Record::line is the number of their line in the body.
// Their offsets are not set. Otherwise returns the response that says what is wrong with the request; whether
// a document can be read is not looked at. `id`: of its only document (PUT); nullopt: the documents have
// their own.
std::optional<http::Response> read_body(const http::Request& request, const FormatOptions& format,
                                        std::optional<std::string_view> id, Batch& batch);

// Routes POST /v1/documents, without an id, and PUT /v1/documents/{id} to `insert`.
using Insert =
    std::function<void(const http::Request& request, std::optional<std::string_view> id, http::Reply reply)>;
void route_inserts(http::Server& server, http::Access access, const Insert& insert);

// The answer to a request: a line for each of its documents, of which `rejected` could not be read.
http::Response answer_of(std::span<const std::string> lines, size_t rejected);

}  // namespace doppel
