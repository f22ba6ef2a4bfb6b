#include "index/segment_reads.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "base/status.h"

namespace doppel {
namespace {

constexpr size_t kPages = 256;  // read at once: a megabyte

struct PageBuffer {
  alignas(kSegmentPage) uint8_t bytes[kPages][kSegmentPage];
};

bool same_page(const PageWant& a, const PageWant& b) {
  return a.segment == b.segment && a.offset == b.offset;
}

}  // namespace

absl::Status read_wanted(const PageReader& reader, std::vector<PageWant>& wants, uint64_t& count,
                         absl::FunctionRef<void(const PageWant& want, const uint8_t* bytes)> use) {
  thread_local std::unique_ptr<PageBuffer> buffer;
  if (wants.empty()) return absl::OkStatus();
  if (buffer == nullptr) buffer = std::make_unique<PageBuffer>();
  std::sort(wants.begin(), wants.end(), [](const PageWant& a, const PageWant& b) {
    return a.segment != b.segment ? a.segment->first() < b.segment->first() : a.offset < b.offset;
  });
  std::array<PageRead, kPages> reads;
  for (size_t from = 0; from < wants.size();) {
    size_t n = 0;
    size_t to = from;
    for (; to < wants.size(); ++to) {
      if (to > from && same_page(wants[to], wants[to - 1])) continue;
      if (n == kPages) break;
      reads[n] = {&wants[to].segment->source(), wants[to].offset, buffer->bytes[n]};
      ++n;
    }
    RETURN_IF_ERROR(reader.read(std::span(reads).first(n)));
    count += n;
    const PageRead* page = nullptr;
    for (size_t w = from; w < to; ++w) {
      if (page == nullptr || !same_page(wants[w], wants[w - 1])) {
        page = page == nullptr ? reads.data() : page + 1;
        RETURN_IF_ERROR(check_segment_page(*page->source, page->offset, page->out));
      }
      use(wants[w], page->out);
    }
    from = to;
  }
  wants.clear();
  return absl::OkStatus();
}

}  // namespace doppel
