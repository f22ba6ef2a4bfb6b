#pragma once
// What `doppel scan` prints for a person: the groups of copies on a terminal, the summary, and what it left
// out.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "engine/bodies.h"
#include "engine/engine.h"
#include "files/write/keeper.h"
#include "formats/decoder.h"
#include "pipeline/pipeline.h"

namespace doppel {

// Prints the summary of `doppel scan` on stderr. `groups`: they were shown, and no events were written.
// `keeps`: unique documents were kept.
void print_summary(const Counters& counters, const Engine& engine, const Bodies& bodies, double seconds,
                   const Keeper::Cut& cut, ExtractPart extract, bool groups, bool keeps);

// Says which unique (or clean) documents are not in the file or directory of --keep. `copying`: the flags
// that copy whole files.
void print_not_kept(std::string_view command, std::string_view documents, const Keeper& keeper,
                    const FilesSinkOptions& options, std::string_view copying);

// What `doppel scan` shows on a terminal in place of events: each original with its copies, how similar they
// are, and how many bytes could go. Takes memory for each original that has copies.
class ScanGroups {
 public:
  // Adds the copies among the documents of a batch, while its records exist.
  absl::Status add(const Decided& decided);
  // The groups whose copies take the most bytes, first the largest, in at most `rows` lines of `columns`
  // characters. The last line counts what there is no room for.
  std::string text(size_t rows, size_t columns) const;

 private:
  struct Copy {
    std::string name;
    std::string similarity;  // "exact", or a fraction
  };
  struct Group {
    std::string original;
    std::vector<Copy> first;  // the first few copies
    uint64_t copies = 0, bytes = 0;
  };

  std::vector<Group> groups_;  // in the order of their first copies
  absl::flat_hash_map<Seq, size_t> group_of_;
};

struct ScreenSize {
  size_t rows = 24, columns = 80;
};
// The size of the terminal that stdout is; 24 lines of 80 characters if it does not say.
ScreenSize screen_size();

// The files that `scan --keep-files` does not copy although they are no copies: hidden and empty ones, those
// without text, and those of many documents. Somebody who deletes the folder afterwards must know of them.
class LeftOut {
 public:
  // Adds the whole files of a batch that were judged.
  void add(const Decided& decided);
  // Finds all other files below `paths`, but not below or among `ours`, which doppel writes.
  void find(const std::vector<std::string>& paths, const std::vector<std::string>& ours);
  // The files that find() found, in the order of their paths.
  const std::vector<std::string>& files() const { return files_; }
  // What they are: "3 hidden, 2 empty, 7 .pdf".
  std::string kinds() const;

 private:
  using Identity = std::pair<uint64_t, uint64_t>;  // device and inode
  absl::flat_hash_set<Identity> judged_;
  std::vector<std::string> files_;
  std::map<std::string, uint64_t> kinds_;
};

}  // namespace doppel
