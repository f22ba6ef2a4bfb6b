#pragma once
// The common parts of the daemon's pages: their head, and pieces of HTML. All results escape text from
// outside, except those of shortened() and shortened_place().

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "status/activity.h"

namespace doppel::page {

// The page from the doctype to <body>. With `refresh_s` 0 it does not reload.
std::string begin(std::string_view title, int refresh_s);

std::string html(std::string_view text);
std::string count(uint64_t n);   // "1,234"
std::string size(double bytes);  // "1.5 MiB"
std::string span(int64_t ms);    // "3 min"
std::string rate(double n);      // "16.3", "1,234", "< 0.1"
std::string percent(uint64_t part, uint64_t whole);
// Appends a name and its value to a <dl>. Escapes both.
void fact(std::string& out, std::string_view name, std::string_view value);
// Return the beginning of a long text, and the end of a long place, which has the offset.
std::string shortened(std::string text);
std::string shortened_place(std::string text);
// The name of a document and its URL, from encoded metadata.
std::string document(std::string_view encoded);
std::string event_id(std::string_view encoded);
std::string escape_path(std::string_view text);

}  // namespace doppel::page

namespace doppel {

// Charts of the last hour as inline SVG. The colours are the page's CSS variables.

// Documents per second, stacked by verdict.
void append_rate_chart(std::string& out, const std::vector<Sample>& samples);
// The share of copies among the compared documents, from 0 to 1, with gaps while none were compared.
void append_ratio_chart(std::string& out, const std::vector<Sample>& samples);

}  // namespace doppel
