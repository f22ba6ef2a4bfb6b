#pragma once
// Decodes JSON objects into documents, in all shapes that the presets define.

#include <memory>
#include <string>
#include <string_view>

#include "formats/decoder.h"

namespace doppel {

// `options` must have passed check_format().
std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options);

// Decodes lines of crawl.log, the log that Heritrix and warcprox write next to their WARC files: columns of
// text and, if configured, an object with the position of the record in its WARC file.
//
// Converts the line to the message that KafkaCrawlLogFeed sends. "" if it is not such a line.
std::string crawl_log_message(std::string_view line);

// Returns a decoder for messages and lines. `messages` decodes the messages.
std::unique_ptr<Decoder> make_crawl_log_decoder(std::unique_ptr<Decoder> messages);

}  // namespace doppel
