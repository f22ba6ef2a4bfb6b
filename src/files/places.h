#pragma once
// Which file a path means, so that nothing is written over what is read: names differ, links lead elsewhere,
// but device and inode say that two of them are one file.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace doppel {

// Something to read or to write, and what the user calls it ("--keep", "state.directory"). An empty path is
// none;
// "-" is stdin as an input and stdout as an output.
struct NamedPath {
  std::string what;
  std::string path;
};

struct Place {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // of a file that is not there yet: then device and inode are its directory's
  bool regular = true;
  bool operator==(const Place&) const = default;
};

// Links are followed, also those to files that are not there. None: not even its directory is there, or a
// device.
std::optional<Place> place_of(const std::string& path);

// The path behind all links, also where the last one leads to a file that is not there.
std::string behind_links(const std::string& path);

// Whether `path` is `directory` or lies below it, whatever links lead there. Both need not exist.
bool lies_in(const std::string& path, const std::string& directory);

// Before anything is opened: InvalidArgument if an output is an input, or two outputs are one file.
// Directories among the inputs are for FilesSourceOptions::outputs.
absl::Status check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs);

}  // namespace doppel
