#include "files/read/kept.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "files/byte_stream.h"
#include "files/parquet/footer.h"
#include "files/parquet/row_copy.h"
#include "files/read/content.h"

namespace doppel {
namespace {

// Collects the columns of the rows that will be copied. A damaged file is reported when it is read.
absl::Status admit_kept(const FilesSourceOptions& options, Listing& listing) {
  for (InputFile& file : listing.files) {
    if (file.pipe) return invalid(file.path + ": only rows of Parquet files are written to a Parquet file");
    if (file.remote != nullptr) {
      return invalid(file.path +
                     ": rows are copied to a Parquet file from local files only; name a .jsonl file");
    }
    const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd.ok() || ::fstat(fd.get(), &info) != 0) continue;
    InputFile seen = file;
    look_inside(fd.get(), options, seen);
    if (!seen.refused.empty() && seen.kind != InputKind::values) continue;
    if (seen.kind != InputKind::parquet)
      return invalid(file.path + ": only rows of Parquet files are written to a Parquet file");
    const absl::StatusOr<parquet::Footer> footer =
        parquet::Footer::read(fd.get(), static_cast<uint64_t>(info.st_size));
    if (!footer.ok()) continue;
    const absl::Status admitted = options.kept_columns->admit(file.path, *footer);
    if (!admitted.ok()) return {admitted.code(), file.path + ": " + std::string(admitted.message())};
  }
  return absl::OkStatus();
}

// What one file of kept records holds of a file of this kind; empty: nothing.
std::string_view kept_kind(InputKind kind) {
  switch (kind) {
    case InputKind::whole:
    case InputKind::signed_records:
      return {};
    case InputKind::warc:
    case InputKind::arc:
      return "WARC records";
    case InputKind::mbox:
      return "mail";
    default:
      return "lines";
  }
}

// Finds files of different kinds. `resumed`: an earlier run has written to the file.
absl::Status check_one_kind(const FilesSourceOptions& options, const Listing& listing, bool resumed) {
  std::string_view first;
  std::string its;
  const auto check = [&](InputFile file) -> absl::Status {
    const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) return absl::OkStatus();
    look_inside(fd.get(), options, file);
    if (!file.refused.empty() && file.kind != InputKind::values) return absl::OkStatus();
    const std::string_view kind = kept_kind(file.kind);
    if (kind.empty() || kind == first) return absl::OkStatus();
    if (!first.empty()) {
      return invalid(fmt::format(
          "{} holds {} and {} {}, but {} can hold only one of them; name a directory (--keep DIR/), which "
          "gets a file for each input",
          its, first, file.shown(), kind, options.kept_in));
    }
    first = kind;
    its = file.shown();
    return absl::OkStatus();
  };
  struct stat info = {};
  if (resumed && ::stat(options.kept_in.c_str(), &info) == 0 && info.st_size > 0 && S_ISREG(info.st_mode))
    RETURN_IF_ERROR(check(describe_file(options.kept_in, info, options.layout)));
  for (const InputFile& file : listing.files)
    if (file.size != 0 && file.remote == nullptr) RETURN_IF_ERROR(check(file));
  return absl::OkStatus();
}

}  // namespace

absl::Status check_kept(const FilesSourceOptions& options, Listing& listing, bool resumed) {
  if (options.kept_columns != nullptr) return admit_kept(options, listing);
  return options.kept_in.empty() ? absl::OkStatus() : check_one_kind(options, listing, resumed);
}

}  // namespace doppel
