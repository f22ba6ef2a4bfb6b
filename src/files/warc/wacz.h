#pragma once
// The WARC files in a WACZ file (https://specs.webrecorder.net/wacz), which is a ZIP archive. It stores
// them uncompressed by ZIP, so each is a byte range that is read in place.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "files/input_file.h"

namespace doppel {

struct Wacz {
  std::vector<InputFile> files;   // its archive/*.warc, .warc.gz and .warc.zst, sorted by name
  std::vector<Problem> problems;  // files in it that cannot be read, and why
};

// Whether the name ends in .wacz or .zip. In directories, only such files are looked into.
bool is_wacz_name(std::string_view path);

// Lists the WARC files in an open file. The result is empty if the file is not a ZIP archive or has no WARC
// files. If its name ends in .wacz, that is an error, and so is a damaged or truncated archive; the message
// names the file.
absl::StatusOr<Wacz> look_into_wacz(int fd, const std::string& path, const struct stat& info);

// The members of a WACZ file that are no WARC files, no indexes and no checksums: its pages, and what else
// its maker put into it. Each is at most 256 MiB.
struct WaczMember {
  std::string name, bytes;
};
struct WaczContents {
  std::vector<WaczMember> others;
  std::string datapackage;                // "" if there is none
  std::vector<std::string> warc_members;  // names
};
absl::StatusOr<WaczContents> contents_of_wacz(const std::string& path);

// Whether the file that a position calls `path` (FILE.wacz/archive/NAME) still exists with this identity.
bool is_in_wacz(const std::string& path, uint64_t device, uint64_t inode);
// The path of the WACZ file in `path`; empty if there is none.
std::string wacz_of(const std::string& path);

}  // namespace doppel
