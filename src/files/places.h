#pragma once
// Tells whether two paths lead to the same file, so that no output overwrites an input. Names and links
// differ, but device and inode identify a file.

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace doppel {

// A file to read or to write, and what the user calls it ("--keep", "state.directory"). An empty path
// stands for no file. "-" is stdin as an input and stdout as an output.
struct NamedPath {
  std::string what;
  std::string path;
};

struct Place {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // of a file that does not exist yet; device and inode are then those of its directory
  bool regular = true;
  bool operator==(const Place&) const = default;
};

// Follows links, also to files that do not exist. Returns nullopt for a device, and if not even the
// directory exists.
std::optional<Place> place_of(const std::string& path);

// The path behind all links, also if the last one leads to a file that does not exist.
std::string behind_links(const std::string& path);

// Whether `path` is `directory` or is inside it, whatever links lead there. Neither needs to exist.
bool lies_in(const std::string& path, const std::string& directory);

// Call it before opening anything: returns InvalidArgument if an output is also an input, or two outputs
// are the same file. Directories among the inputs are checked by FilesSourceOptions::outputs.
absl::Status check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs);

}  // namespace doppel
