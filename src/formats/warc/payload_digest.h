#pragma once
// The digests by which archives identify payloads. Crawlers differ in the algorithm and its spelling, or omit
// it, so digests are compared in one form: "sha1:" and 32 letters of Base32.

#include <optional>
#include <string>
#include <string_view>

#include "base/sha1.h"
#include "formats/record.h"
#include "formats/warc/warc.h"

namespace doppel {

std::string payload_digest(Sha1& payload);

// Converts a SHA-1 in hex digits to Base32, and leaves other spellings of the value. "" if there is no SHA-1.
std::string sha1_of_header(std::string_view digest);

// Where the payload starts in the block: after the head of an HTTP response. Returns nullopt if the available
// part of the block does not contain the whole head, or if the record has no payload.
std::optional<size_t> payload_begin(const WarcRecord& record);

// Returns the record's own SHA-1, or the computed SHA-1 of its payload. If only the beginning of the block is
// available, `rest` holds the computed one. "" if there is neither.
std::string payload_digest_of(const WarcRecord& record, const RecordRest* rest);

}  // namespace doppel
