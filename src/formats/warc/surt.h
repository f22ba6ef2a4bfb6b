#pragma once
// The keys by which indexes of web archives file URLs, as their tools make them (SURT, in the canonical form
// of Internet Archive): "http://www.Example.com:80/A/../b/?z=1&a=2#top" -> "com,example)/b?a=2&z=1".

#include <string>
#include <string_view>

namespace doppel {

// Of a URL that has no key (a port that is no number) it is the URL as it is, as in the tools' indexes.
std::string surt(std::string_view url);

}  // namespace doppel
