#include "files/byte_stream.h"

#include <utility>

#include "files/packed_bytes.h"

namespace doppel {

Packing packing_of(std::string_view& name) {
  if (name.ends_with(".gz")) {
    name.remove_suffix(3);
    return Packing::gz;
  }
  if (name.ends_with(".zst")) {
    name.remove_suffix(4);
    return Packing::zst;
  }
  return Packing::none;
}

std::unique_ptr<ByteStream> make_byte_stream(Fd fd, Packing packing, ByteCounter counter, std::string head,
                                             Part part) {
  if (packing == Packing::none)
    return std::make_unique<PlainStream>(std::move(fd), std::move(counter), std::move(head), part);
  Packed packed(std::move(fd), std::move(counter), std::move(head), part);
  return packing == Packing::gz ? make_gz_stream(std::move(packed))
                                : make_zst_stream(std::move(packed), part.begin > 0);
}

}  // namespace doppel
