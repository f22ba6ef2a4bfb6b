#pragma once
// The flags of `doppel scan`, and checks of their paths: outputs must not overwrite inputs or lie in the
// state directory.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "config/config.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "files/write/files_sink.h"

namespace doppel {

struct ScanFlags {
  std::vector<std::string> paths, against;
  std::string list, list_root;  // a file that names more paths, and what goes before relative ones
  FilesSinkOptions sink;
  std::string config_file, cdxj, best, html;
  bool cdx = false;  // the index has the form of classic CDX
  std::string order = "files";
  bool all = false, clusters = false, quiet = false;
  bool keep_all = false;
  bool groups = false;  // shown on the terminal; no events are written
};

// Appends the paths and URLs in the file `flags.list` to `flags.paths`.
absl::Status read_list(ScanFlags& flags);

absl::Status check_best(const Options& options, const ScanFlags& flags);
absl::Status check_places(const Config& config, const ScanFlags& flags);

// Excludes the outputs of this run when a directory is read.
void leave_out_outputs(FilesSourceOptions& source, const Options& options, const ScanFlags& flags,
                       std::string_view position);

}  // namespace doppel
