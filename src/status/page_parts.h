#pragma once
// What the pages of the daemon share: their head, and pieces of HTML. Everything from outside comes out
// escaped.

#include <cstdint>
#include <string>
#include <string_view>

namespace doppel::page {

// From the doctype to <body>; refresh_s 0: the page stays as it is.
std::string begin(std::string_view title, int refresh_s);

std::string html(std::string_view text);
std::string count(uint64_t n);   // "1,234"
std::string size(double bytes);  // "1.5 MiB"
std::string span(int64_t ms);    // "3 min"
std::string rate(double n);      // "16.3", "1,234"; small ones keep digits
std::string percent(uint64_t part, uint64_t whole);
// A name with its value, in a <dl>.
void fact(std::string& out, std::string_view name, std::string_view value);
// The beginning of a long text; of a long place its end, which holds the offset.
std::string shortened(std::string text);
std::string shortened_place(std::string text);
// What a document is called, and where it is, of its encoded metadata.
std::string document(std::string_view encoded);
std::string event_id(std::string_view encoded);
std::string escape_path(std::string_view text);

}  // namespace doppel::page
