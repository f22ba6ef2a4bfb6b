// What a connection sends, cut anywhere: the same requests whether the bytes come at once or one by one, and
// no more than came. The first byte of the input decides how it is cut.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "http/framing.h"
#include "http/listen.h"

namespace {

using doppel::http::Framing;

constexpr size_t kMost = 1024;

// The heads and bodies in `text`, of which `step` bytes come at a time.
std::vector<std::string> read(std::string_view text, size_t step) {
  Framing framing(kMost);
  std::vector<std::string> out;
  std::string kept, body;
  for (; !text.empty(); text.remove_prefix(std::min(step, text.size()))) {
    kept += text.substr(0, step);
    std::string_view bytes = kept;
    for (bool more = false; !more;) {
      const size_t before = bytes.size();
      const Framing::Got got = framing.read(bytes);
      if (bytes.size() > before) std::abort();
      switch (got) {
        case Framing::Got::more:
          more = true;
          break;
        case Framing::Got::head: {
          const auto& head = framing.head();
          out.push_back(head.method + " " + head.target + " " + head.host);
          for (const auto& [name, value] : head.fields) {
            out.push_back(name + ": " + value);
            if (out.back().find_first_of(std::string("\r\n\0", 3)) != std::string::npos) std::abort();
          }
          static_cast<void>(doppel::http::may_be_called(head.host, {}));
          body.clear();
          break;
        }
        case Framing::Got::piece:
          if (framing.piece().size() > before - bytes.size()) std::abort();
          body += framing.piece();
          break;
        case Framing::Got::end:
          if (framing.head().length && *framing.head().length != body.size()) std::abort();
          out.push_back(body);
          framing.begin();
          more = bytes.empty();
          break;
        case Framing::Got::refused:
          if (framing.refusal().status < 400) std::abort();
          out.emplace_back("refused");
          return out;
      }
    }
    if (bytes.size() > kMost) std::abort();  // it must have used them, or refused
    kept = std::string(bytes);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> at_once = read(text, text.size()), cut = read(text, data[0] % 64 + 1);
  // Whether a head or a chunk's line is refused for its size or for what is in it may depend on the cut; what
  // was taken before may not.
  for (size_t i = 0; i < std::min(at_once.size(), cut.size()); ++i) {
    if (at_once[i] != cut[i] && at_once[i] != "refused" && cut[i] != "refused") std::abort();
  }
  return 0;
}
