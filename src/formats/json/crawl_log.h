#pragma once
// Lines of crawl.log, the log that Heritrix and warcprox write beside their WARC files: columns of text, and
// where they were asked for it, an object that says in which WARC file the record is.

#include <memory>
#include <string>
#include <string_view>

#include "formats/decoder.h"

namespace doppel {

// The line as the message that KafkaCrawlLogFeed sends. Empty: it is no such line.
std::string crawl_log_message(std::string_view line);

// Reads messages and lines. `messages`: the decoder of the messages.
std::unique_ptr<Decoder> make_crawl_log_decoder(std::unique_ptr<Decoder> messages);

}  // namespace doppel
