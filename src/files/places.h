#pragma once
// Where files are. Tells whether two paths lead to the same file, so that no output overwrites an input:
// names and links differ, but device and inode identify a file. And files behind URLs.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "files/byte_stream.h"

namespace doppel {

// A file to read or to write, and what the user calls it ("--keep", "state.directory"). An empty path
// stands for no file. "-" is stdin as an input and stdout as an output.
struct NamedPath {
  std::string what;
  std::string path;
};

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  // of a file that does not exist yet; device and inode are then those of its directory
  bool regular = true;
  bool operator==(const FileIdentity&) const = default;
};

// Follows links, also to files that do not exist. Returns nullopt for a device, and if not even the
// directory exists.
std::optional<FileIdentity> identity_of(const std::string& path);

// The path behind all links, also if the last one leads to a file that does not exist.
std::string behind_links(const std::string& path);

// Whether `path` is `directory` or is inside it, whatever links lead there. Neither needs to exist.
bool lies_in(const std::string& path, const std::string& directory);

// Call it before opening anything: returns InvalidArgument if an output is also an input, or two outputs
// are the same file. Directories among the inputs are checked by FilesSourceOptions::outputs.
absl::Status check_outputs(std::span<const NamedPath> outputs, std::span<const NamedPath> inputs);

// Files behind URLs, as the readers of files see them. They are read like local files, while they arrive.
// fetch/downloads.h has the implementation; who may not use the network has none.

inline bool is_url(std::string_view path) {
  return path.starts_with("s3://") || path.starts_with("https://") || path.starts_with("http://");
}

// The URL for messages, events and the state directory: without a user's name and password, and without the
// query, which may be a signature.
inline std::string url_without_secrets(std::string_view url) {
  std::string out(url.substr(0, url.find_first_of("?#")));
  const size_t host = out.find("://") + 3;
  const size_t at = out.substr(0, out.find('/', host)).rfind('@');
  if (at != std::string::npos) out.erase(host, at + 1 - host);
  return out;
}

struct RemoteFile {
  std::string url;      // as the user gave it; it may have secrets behind "?" or before "@"
  std::string name;     // without them
  std::string version;  // of its content, as the server names it (ETag, or else Last-Modified)
  uint64_t size = 0;
  bool ranges = false;  // the server answers requests for parts of it
};

class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;
  // For each URL the file behind it, or all files below "s3://BUCKET/PREFIX/", in the order of their names.
  // NotFound: there is none. Cancelled: the run is stopped. Calls `listing` now and then, and at the end,
  // with the number of files that were found so far.
  using Found = absl::StatusOr<std::vector<std::shared_ptr<const RemoteFile>>>;
  virtual std::vector<Found> list(const std::vector<std::string>& urls,
                                  const std::function<void(uint64_t files)>& listing) = 0;
  // Says which files will be opened, in this order. They are fetched before they are opened.
  virtual void plan(std::vector<std::shared_ptr<const RemoteFile>> files) = 0;
  // Opens the file, whose bytes are arriving. FailedPrecondition, also while it arrives: the content changed
  // since it was listed. Unavailable: the server did not answer in time. Cancelled: the run is stopped.
  virtual absl::StatusOr<Fd> open(const RemoteFile& file) = 0;
};

}  // namespace doppel
