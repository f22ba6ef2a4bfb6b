#include "files/revisits/rewrite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/bytes.h"
#include "base/checksums.h"
#include "base/status.h"
#include "base/strings.h"
#include "doppel/version.h"
#include "files/byte_stream.h"
#include "files/output_file.h"
#include "files/read/files_source.h"
#include "files/warc/captures.h"
#include "files/warc/wacz.h"
#include "formats/warc/cdxj.h"

namespace doppel {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = 1 << 20;
constexpr uint16_t kVersion64 = 45;                   // of ZIP, with sizes of eight bytes
constexpr uint16_t kDate = (46 << 9) | (1 << 5) | 1;  // 2026-01-01: the same input makes the same file

struct Member {
  std::string name, sha256;
  uint64_t size = 0, local = 0;  // `local`: offset of its header
  uint32_t crc = 0;
};

// What the local header and the entry in the directory have in common. All sizes are in the extra field for
// ZIP64, so that they may be large.
void put_head(std::string& out, const Member& member, bool in_directory) {
  put_fixed<uint32_t>(out, in_directory ? 0x02014b50 : 0x04034b50);
  if (in_directory) put_fixed<uint16_t>(out, kVersion64);
  put_fixed<uint16_t>(out, kVersion64);
  put_fixed<uint16_t>(out, 1 << 11);  // the name is UTF-8
  put_fixed<uint16_t>(out, 0);        // stored
  put_fixed<uint16_t>(out, 0);
  put_fixed<uint16_t>(out, kDate);
  put_fixed<uint32_t>(out, member.crc);
  put_fixed<uint32_t>(out, UINT32_MAX);
  put_fixed<uint32_t>(out, UINT32_MAX);
  put_fixed<uint16_t>(out, static_cast<uint16_t>(member.name.size()));
  put_fixed<uint16_t>(out, in_directory ? 28 : 20);
  if (in_directory) {
    for (const uint16_t none : {0, 0, 0}) put_fixed<uint16_t>(out, none);  // comment, disk, kind of file
    put_fixed<uint32_t>(out, 0100644u << 16);
    put_fixed<uint32_t>(out, UINT32_MAX);
  }
  out += member.name;
  put_fixed<uint16_t>(out, 1);
  put_fixed<uint16_t>(out, in_directory ? 24 : 16);
  put_fixed<uint64_t>(out, member.size);
  put_fixed<uint64_t>(out, member.size);
  if (in_directory) put_fixed<uint64_t>(out, member.local);
}

// Stores members one after the other.
class ZipWriter {
 public:
  explicit ZipWriter(std::unique_ptr<WholeOutput> out) : out_(std::move(out)) {}

  absl::Status add(std::string name, std::string_view bytes) {
    Member member{.name = std::move(name), .size = bytes.size()};
    Sha256 sha;
    sha.update(bytes);
    member.sha256 = hex(sha.finish());
    member.crc = crc(0, bytes);
    RETURN_IF_ERROR(begin(std::move(member)));
    return append(bytes);
  }
  // Reads the file twice, because the header has its checksum.
  absl::Status add_file(std::string name, const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0) return io_error(path);
    Member member{.name = std::move(name), .size = static_cast<uint64_t>(info.st_size)};
    Sha256 sha;
    const auto digest = [&](std::string_view piece) {
      sha.update(piece);
      member.crc = crc(member.crc, piece);
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(each_piece(fd.get(), path, member.size, digest));
    member.sha256 = hex(sha.finish());
    const uint64_t size = member.size;
    RETURN_IF_ERROR(begin(std::move(member)));
    return each_piece(fd.get(), path, size, [this](std::string_view piece) { return append(piece); });
  }
  const std::vector<Member>& members() const { return members_; }

  absl::Status finish() {
    const uint64_t directory = at_;
    std::string end;
    for (const Member& member : members_) put_head(end, member, true);
    const uint64_t size = end.size(), end64 = directory + size, count = members_.size();
    put_fixed<uint32_t>(end, 0x06064b50);
    put_fixed<uint64_t>(end, 44);
    put_fixed<uint16_t>(end, kVersion64);
    put_fixed<uint16_t>(end, kVersion64);
    put_fixed<uint64_t>(end, 0);  // disks
    for (const uint64_t value : {count, count, size, directory}) put_fixed<uint64_t>(end, value);
    put_fixed<uint32_t>(end, 0x07064b50);
    put_fixed<uint32_t>(end, 0);
    put_fixed<uint64_t>(end, end64);
    put_fixed<uint32_t>(end, 1);
    put_fixed<uint32_t>(end, 0x06054b50);
    put_fixed<uint32_t>(end, 0);
    for (const uint16_t all : {UINT16_MAX, UINT16_MAX}) put_fixed<uint16_t>(end, all);
    for (const uint32_t all : {UINT32_MAX, UINT32_MAX}) put_fixed<uint32_t>(end, all);
    put_fixed<uint16_t>(end, 0);
    RETURN_IF_ERROR(append(end));
    return out_->finish();
  }

 private:
  static std::string hex(const Sha256::Digest& digest) {
    return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }
  static uint32_t crc(uint32_t before, std::string_view bytes) {
    return static_cast<uint32_t>(
        ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  }
  template <typename Visit>
  static absl::Status each_piece(int fd, const std::string& path, uint64_t size, const Visit& visit) {
    std::vector<char> piece(kPiece);
    for (uint64_t at = 0; at < size;) {
      const ssize_t got =
          ::pread(fd, piece.data(), std::min<uint64_t>(piece.size(), size - at), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 ? io_error(path) : absl::DataLossError(path + ": has become shorter");
      RETURN_IF_ERROR(visit(std::string_view(piece.data(), static_cast<size_t>(got))));
      at += static_cast<uint64_t>(got);
    }
    return absl::OkStatus();
  }
  absl::Status begin(Member member) {
    member.local = at_;
    std::string head;
    put_head(head, member, false);
    members_.push_back(std::move(member));
    return append(head);
  }
  absl::Status append(std::string_view bytes) {
    at_ += bytes.size();
    return bytes.empty() ? absl::OkStatus() : out_->append(bytes);
  }

  std::unique_ptr<WholeOutput> out_;
  std::vector<Member> members_;
  uint64_t at_ = 0;
};

// Writes the CDXJ index of these WARC files.
absl::Status write_index(const std::vector<std::string>& paths, const std::string& to) {
  absl::flat_hash_map<std::string, uint64_t> sizes;
  std::error_code none;
  for (const std::string& path : paths) sizes[path] = fs::file_size(path, none);
  CdxjOutput index(std::move(sizes));
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open_files_source({.paths = paths}, ""));
  RETURN_IF_ERROR(index.add_all(*source));
  return index.write(to);
}

// The description of the package, with what the original's maker said about it.
std::string datapackage(std::string_view original, const std::vector<Member>& members,
                        const std::vector<std::string>& needs) {
  std::vector<std::string> parts = members_without(original, {"resources", "software", "modified"});
  const auto add = [&](std::string_view name, std::string_view text) {
    std::string part;
    append_json_string(part, name);
    part += ':';
    append_json_string(part, text);
    parts.push_back(std::move(part));
  };
  if (parts.empty()) {
    add("profile", "data-package");
    add("wacz_version", "1.1.1");
    add("created", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()));
  }
  add("modified", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()));
  add("software", fmt::format("doppel {}", DOPPEL_VERSION_STRING));
  const auto says = [](std::string_view part) { return part.starts_with("\"relation\""); };
  if (!needs.empty() && std::none_of(parts.begin(), parts.end(), says)) {
    std::vector<std::string> files;
    for (const std::string& path : needs) {
      std::string one = "{\"filename\":";
      append_json_string(one, path.substr(path.rfind('/') + 1));
      files.push_back(std::move(one) + "}");
    }
    parts.push_back(fmt::format(R"("relation":{{"requires":[{}]}})", absl::StrJoin(files, ",")));
  }
  std::vector<std::string> resources;
  for (const Member& member : members) {
    std::string one = "{\"name\":";
    append_json_string(one, member.name.substr(member.name.rfind('/') + 1));
    one += ",\"path\":";
    append_json_string(one, member.name);
    one += fmt::format(",\"hash\":\"sha256:{}\",\"bytes\":{}}}", member.sha256, member.size);
    resources.push_back(std::move(one));
  }
  parts.push_back(fmt::format("\"resources\":[{}]", absl::StrJoin(resources, ",")));
  return fmt::format("{{{}}}", absl::StrJoin(parts, ","));
}

}  // namespace

absl::Status write_wacz(const std::string& original, const std::string& folder,
                        const std::vector<std::string>& needs, const std::string& to) {
  ASSIGN_OR_RETURN(const WaczContents contents, contents_of_wacz(original));
  std::vector<std::string> warcs, members = contents.warc_members;
  std::sort(members.begin(), members.end());
  std::error_code none;
  for (const std::string& member : members) {
    const std::string path = (fs::path(folder) / member).string();
    if (!fs::exists(path, none)) {
      return absl::FailedPreconditionError(fmt::format(
          "{}: its {} was not written again, so the WACZ file would lose it; the others are in {}", original,
          member, folder));
    }
    warcs.push_back(path);
  }
  const std::string index = folder + "/index.cdx";
  RETURN_IF_ERROR(write_index(warcs, index));
  ASSIGN_OR_RETURN(std::unique_ptr<WholeOutput> out, WholeOutput::open_unpacked(to));
  ZipWriter zip(std::move(out));
  for (size_t i = 0; i < warcs.size(); ++i) RETURN_IF_ERROR(zip.add_file(members[i], warcs[i]));
  RETURN_IF_ERROR(zip.add_file("indexes/index.cdx", index));
  for (const WaczMember& member : contents.others) RETURN_IF_ERROR(zip.add(member.name, member.bytes));
  RETURN_IF_ERROR(zip.add("datapackage.json", datapackage(contents.datapackage, zip.members(), needs)));
  const std::string digest = zip.members().back().sha256;
  RETURN_IF_ERROR(zip.add("datapackage-digest.json",
                          fmt::format("{{\"path\":\"datapackage.json\",\"hash\":\"sha256:{}\"}}", digest)));
  return zip.finish();
}

}  // namespace doppel
