#include "handed_rows.h"

#include <fcntl.h>

#include "base/bytes.h"
#include "base/checksums.h"
#include "base/faults.h"
#include "base/status.h"

namespace doppel::python {
namespace {

// Adds the rows of a block. Returns false if the block is invalid, of another file, or not the next one.
bool take_block(std::string_view payload, const LineMark& mark, Handed& out) {
  ByteReader in(payload);
  const bool same =
      in.varint() == mark.device && in.varint() == mark.inode && in.fixed<uint64_t>() == mark.head_hash;
  const uint64_t first_row = in.varint(), rows = in.varint();
  if (!in.ok() || !same) return false;
  if (out.verdicts.size() == 0) out.first_row = first_row;
  if (first_row != out.first_row + out.verdicts.size()) return false;
  return take_rows(in, rows, out.verdicts) && in.done();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HandedRows>> HandedRows::open(const std::string& directory, bool sync) {
  ASSIGN_OR_RETURN(File file, File::open(join(directory, "handed"), O_RDWR | O_CREAT));
  return std::unique_ptr<HandedRows>(new HandedRows(std::move(file), sync));
}

absl::StatusOr<std::optional<Handed>> HandedRows::read(const LineMark& mark) const {
  ASSIGN_OR_RETURN(const uint64_t size, file_.size());
  std::string bytes(size, '\0');
  RETURN_IF_ERROR(file_.read_at(0, bytes.data(), size));
  Handed out;
  for (std::string_view rest = bytes; rest.size() > 8;) {
    const auto length = load<uint32_t>(rest.data());
    if (rest.size() - 8 < length) break;
    const std::string_view payload = rest.substr(8, length);
    if (crc32c(payload) != load<uint32_t>(rest.data() + 4) || !take_block(payload, mark, out)) break;
    if (out.first_row + out.verdicts.size() == mark.lines) return out;
    rest.remove_prefix(8 + length);
  }
  return std::nullopt;
}

absl::Status HandedRows::forget() {
  end_ = 0;
  return file_.cut(0);
}

absl::Status HandedRows::add(const LineMark& mark, uint64_t first_row, const Verdicts& v, size_t rows) {
  std::string payload;
  put_varint(payload, mark.device);
  put_varint(payload, mark.inode);
  put_fixed<uint64_t>(payload, mark.head_hash);
  put_varint(payload, first_row);
  put_varint(payload, rows);
  put_rows(payload, v, v.size() - rows);
  std::string block;
  put_fixed<uint32_t>(block, static_cast<uint32_t>(payload.size()));
  put_fixed<uint32_t>(block, crc32c(payload));
  block += payload;
  RETURN_IF_ERROR(file_.write_at(end_, block));
  end_ += block.size();
  kill_point("rows_handed");
  return sync_ ? file_.sync() : absl::OkStatus();
}

}  // namespace doppel::python
