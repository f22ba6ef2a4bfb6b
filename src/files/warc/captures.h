#pragma once
// What an archive's captures are, as an index and as counts. CdxjOutput writes a CDXJ index of the captures
// in the WARC files that were read, for pywb and other players, or one in classic CDX, for crawlers that
// leave out what is in it (wget --warc-dedup). The key of an answer to a POST or PUT request contains what
// was sent (PostQuery), if the request is the record before or behind it and the two name each other.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "files/input_file.h"
#include "files/output_file.h"
#include "formats/record.h"
#include "formats/warc/cdxj.h"
#include "formats/warc/warc.h"
#include "pipeline/stream.h"

namespace doppel {

// cdx: " CDX N b a m s k r M S V g u". The digest k is a SHA-1 in Base32, and u is the record id in brackets,
// of a revisit record that of its original, because crawlers refer to it; without an id there is no digest
// either.
enum class IndexForm : unsigned char { cdxj, cdx };

class CdxjOutput {
 public:
  // `sizes` are the sizes of the files, by the source of their records. They give the length of each last
  // record.
  explicit CdxjOutput(absl::flat_hash_map<std::string, uint64_t> sizes, IndexForm form = IndexForm::cdxj)
      : form_(form), sizes_(std::move(sizes)) {}

  // Adds batches in the order of the stream. A record that does not begin a member of a compressed file
  // gets no line.
  void add(const Batch& batch);
  // Adds everything that the source has left, until it ends or `stop` returns true.
  absl::Status add_all(Source& source, const std::function<bool()>& stop = [] { return false; });
  // Writes the lines sorted by bytes, under a temporary name that is then renamed.
  absl::Status write(const std::string& path);
  uint64_t lines() const { return lines_.size(); }
  // Captures without a line because they do not begin a member, and the file of the first one.
  uint64_t without_line() const { return without_line_; }
  const std::string& first_without_line() const { return first_without_line_; }
  // Captures without a line because they lack URI or date, or their key would contain white space, and the
  // URI of the first one.
  uint64_t without_key() const { return without_key_; }
  const std::string& first_without_key() const { return first_without_key_; }

 private:
  void end_last(uint64_t end);

  IndexForm form_;
  absl::flat_hash_map<std::string, uint64_t> sizes_;
  std::vector<std::string> lines_;
  uint64_t without_line_ = 0;
  std::string first_without_line_;
  uint64_t without_key_ = 0;
  std::string first_without_key_;
  bool open_ = false;  // the last line still lacks its length
  // The record before, of which the next one may be the request or the answer.
  struct Exchange {
    bool request = false;
    std::string id, uri, concurrent_to;
    std::optional<PostQuery> query;  // of a request
  };
  void join(const WarcRecord& record, std::string_view head);
  std::optional<Exchange> before_;
  std::optional<PostQuery> sent_;  // for the last line
  std::string answered_uri_;       // of the last line
  std::string record_id_;          // that a revisit record of its payload refers to
  uint64_t offset_ = 0;
  std::string source_, filename_;
};

// Counts the captures of an archive, their bytes and their copies, by host, type and year.
struct Tally {
  uint64_t captures = 0, bytes = 0;  // responses and resources; their payloads, decompressed
  uint64_t copies = 0,
           copied_bytes = 0;            // captures with the payload of an earlier one, of another time or URI
  uint64_t again = 0, again_bytes = 0;  // captures that are stored twice: same URI, second and payload
  uint64_t saved = 0;                   // bytes of the files that revisit records would save, about
  uint64_t revisits = 0;                // revisit records, which have no payload
};

// The host of a URI, with its port, in small letters; the scheme if there is no host.
std::string site_of(std::string_view uri);
// The media type of a Content-Type in small letters; "unknown" if there is none.
std::string type_of(std::string_view content_type);

class ArchiveTally {
 public:
  // Begins a file, which look_inside() has described. end() after its last record.
  void begin(const InputFile& file);
  // Adds a record. Of equal payloads, the first one added counts as the original. What a copy saves is what
  // it takes in the file beyond a packed revisit record of its own head; 0 where rewriting keeps copies.
  void add(const Record& record);
  void end();

  const Tally& all() const { return all_; }
  using Groups = std::map<std::string, Tally>;
  const Groups& hosts() const { return hosts_; }
  const Groups& types() const { return types_; }
  const Groups& years() const { return years_; }
  uint64_t stored_bytes() const { return stored_bytes_; }  // of all files

 private:
  Tally all_;
  Groups hosts_, types_, years_;
  // A copy whose end in the file is not known yet.
  struct Open {
    uint64_t begin = 0, revisit_bytes = 0;
    Tally* tallies[4] = {};
  };
  std::optional<uint64_t> revisit_bytes(const Record& record, const WarcRecord& copy,
                                        const std::string& digest);
  void settle(std::optional<uint64_t> next);

  absl::flat_hash_set<uint64_t> payloads_, captures_;  // hashes of digests, and of URI, second and digest
  std::optional<Open> open_;
  std::unique_ptr<Packer> packer_;  // null: the file is not packed
  bool arc_ = false;
  uint64_t size_ = 0, stored_bytes_ = 0;
};

}  // namespace doppel
