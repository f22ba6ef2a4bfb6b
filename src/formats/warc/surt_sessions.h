#pragma once
// Numbers of sessions in URLs, which keys of captures leave out as the package surt does.

#include <string>
#include <string_view>

namespace doppel {

// "/(S(4hqa0555fwsecu455xqckv45))/page.aspx" -> "/page.aspx"
std::string without_session_in_path(std::string path);
// "a=1&sid=0123456789abcdef0123456789abcdef" -> "a=1"
std::string without_sessions(std::string query);

}  // namespace doppel
