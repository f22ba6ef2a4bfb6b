#pragma once
// Removes session ids from URLs, as the package surt does for the keys of captures.

#include <string>
#include <string_view>

namespace doppel {

// "/(S(4hqa0555fwsecu455xqckv45))/page.aspx" -> "/page.aspx"
std::string without_session_in_path(std::string path);
// "a=1&sid=0123456789abcdef0123456789abcdef" -> "a=1"
std::string without_sessions(std::string query);

}  // namespace doppel
