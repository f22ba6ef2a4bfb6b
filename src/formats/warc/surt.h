#pragma once
// The keys under which indexes of web archives file URLs, as their tools compute them (SURT, in the canonical
// form of the Internet Archive): "http://www.Example.com:80/A/../b/?z=1&a=2#top" -> "com,example)/b?a=2&z=1".

#include <string>
#include <string_view>

namespace doppel {

// Returns the URL unchanged if it has no key (for example, because its port is not a number), as the tools
// do.
std::string surt(std::string_view url);

}  // namespace doppel
