#pragma once
// The first 48 bytes of hot, bodies and journal (little endian):
//
//    0  8   magic: "doppel", then the kind: 'H' hot, 'B' bodies, 'J' journal, then '\n'
//    8  u32 version of the format: 2; of a journal 4 (older ones: 2 or 3)
//   12  u32 num_perm     (hot; else 0)
//   16  u32 mask_words   (hot; else 0)
//   20  16  epoch: the UUID of the index that the file belongs to
//   36  8   zero
//   44  u32 CRC32C of the 44 bytes before
//
// Files of different epochs are never mixed: a file that was copied from another directory is refused.

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "state/file.h"

namespace doppel {

using Epoch = std::array<uint8_t, 16>;

absl::StatusOr<Epoch> make_epoch();            // a random (version 4) UUID
std::string epoch_string(const Epoch& epoch);  // 8-4-4-4-12 hex digits

constexpr size_t kFileHeaderBytes = 48;
constexpr uint32_t kStateVersion = 2;
constexpr uint32_t kJournalVersion = 4;

enum class FileKind : char { hot = 'H', bodies = 'B', journal = 'J' };

struct FileHeader {
  FileKind kind = FileKind::hot;
  uint32_t version = 0;  // as read; files are written in the newest version of their kind
  uint32_t num_perm = 0;
  uint32_t mask_words = 0;
  Epoch epoch{};
  bool operator==(const FileHeader&) const = default;
};

std::string encode_header(const FileHeader& header);
// Also reads older journals. The error says whether the file is foreign, damaged, or of another
// version of the format.
absl::StatusOr<FileHeader> read_header(const File& file, FileKind kind);

}  // namespace doppel
