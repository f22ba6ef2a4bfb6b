#pragma once
// The digests by which archives name payloads. Crawlers differ in the algorithm and its spelling, or leave it
// out, so equal payloads are compared by one form: "sha1:" and 32 letters of Base32.

#include <optional>
#include <string>
#include <string_view>

#include "base/sha1.h"
#include "formats/record.h"
#include "formats/warc/warc.h"

namespace doppel {

std::string payload_digest(Sha1& payload);

// A SHA-1 as it was written, with hex digits as Base32; empty: it is of another algorithm, or missing.
std::string sha1_of_header(std::string_view digest);

// Where the payload begins in the block: behind the head of an HTTP response. Nothing: that head has no end
// in what there is of the block, or the record has no payload.
std::optional<size_t> payload_begin(const WarcRecord& record);

// The record's own SHA-1, or that of its payload, which `rest` has where only the beginning of the block is
// here. Empty: neither can be had.
std::string payload_digest_of(const WarcRecord& record, const RecordRest* rest);

}  // namespace doppel
