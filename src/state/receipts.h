#pragma once
// What documents were answered, by their ids and digests, so that a document that is sent again hears the
// same and is not judged again: the last million, or up to twice as many. They are in two files of the state
// directory. "receipts" grows, and when it is full it becomes "receipts.1" in place of the one before.
//
// Each file has the header of columns.h (kind 'R'), then the answers in the order of the documents:
//
//    0  u32 length of the payload
//    4  u32 CRC32C of length and payload, seeded with the CRC32C of the epoch
//    8  payload:
//         varint  number of the document: how many the index had judged before it; ascending
//         varint  number of the original in the index, + 1: of the document, or of what it repeats; 0: none,
//                 or an original of an index that is only read
//         16      digest of the text
//         string  id
//         string  the answer
//
// Nothing refers to these files. They are written before the commit that counts their documents, so a start
// cuts off the answers to documents that the index has not judged. After a loss of power, answers that a
// commit counts may be missing, unless each commit is synced. Then a document that is sent again is judged
// again, like any other. No answer is wrong: each is checked when it is read.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "index/index.h"
#include "state/columns.h"
#include "state/file.h"
#include "text/hash_key.h"

namespace doppel {

// Use it on one thread.
class Receipts {
 public:
  struct Receipt {
    uint64_t number = 0;          // of the document
    std::optional<Seq> original;  // without it, nothing that is forgotten takes the answer back
    std::string_view id;          // views live until the next call
    Digest digest;
    std::string_view text;
  };
  static constexpr uint64_t kMost = 1'000'000;  // answers in a file

  // Reads what the directory has of an index that has judged `documents`. `notes` gets what a person should
  // know: damage, after which nothing is read, or files of another index, which are set aside.
  static absl::StatusOr<std::unique_ptr<Receipts>> open(std::string directory, const Epoch& epoch,
                                                        uint64_t documents, std::vector<std::string>& notes,
                                                        uint64_t most = kMost);

  // The newest answer to a document with this id and digest. DataLoss: it is damaged.
  absl::StatusOr<std::optional<Receipt>> find(std::string_view id, const Digest& digest);
  // The answers are found from here on, and durable as far as the system is (`to_disk`: after a loss of
  // power, too).
  absl::Status add(const std::vector<Receipt>& receipts, bool to_disk);
  absl::Status sync();
  uint64_t size() const { return places_.size(); }

 private:
  struct Part {
    std::optional<File> file;
    uint64_t end = 0;  // of the file
    uint64_t count = 0;
  };
  struct Place {
    uint64_t offset : 63;
    uint64_t part : 1;
  };

  Receipts(std::string directory, const Epoch& epoch, uint64_t most);
  absl::Status read(int part, const std::string& path, uint64_t documents, std::vector<std::string>& notes);
  absl::Status begin_file();

  const std::string directory_;
  const Epoch epoch_;
  const uint32_t seed_;
  const uint64_t most_;
  std::array<Part, 2> parts_;
  int now_ = 0;  // the part that grows
  absl::flat_hash_map<uint64_t, Place> places_;
  std::string buffer_;
};

}  // namespace doppel
