#pragma once
// Rewrites WARC files with revisit records in place of copies. Each replaced copy was compared with its
// original byte for byte, and the original stays. All other bytes are copied as they are stored. No input
// is ever changed.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "records/revisits.h"

namespace doppel {

// Of the copies of one host or type.
struct RewritePart {
  uint64_t replaced = 0;          // copies
  uint64_t bytes = 0, saved = 0;  // of these as they are stored, and how many of them are saved
  uint64_t others = 0;            // copies with another payload, which no revisit record can replace
};

struct RewriteReport {
  uint64_t files = 0;               // files that were written
  uint64_t bytes = 0, written = 0;  // sizes of these files before and after
  uint64_t arcs = 0;                // ARC files in the given directories, which are not written
  uint64_t replaced = 0;
  uint64_t turned = 0;  // of these: an event calls them originals, but a copy was captured earlier
  std::map<std::string, uint64_t, std::less<>> kept;  // number of copies that stay, by reason
  std::vector<std::string> problems;                  // complete messages about inputs; at most twenty
  uint64_t more_problems = 0;                         // messages beyond these
  std::map<std::string, RewritePart> hosts, types;
  uint64_t packed = 0;  // WACZ files
  // By WACZ file: how many of its new revisit records refer to which other file. It does not replay alone.
  std::map<std::string, std::map<std::string, uint64_t>> needs;
  uint64_t verified = 0;  // revisit records whose original verify() has found
};

class Rewriter {
 public:
  // `paths` are WARC files, WACZ files and directories to rewrite; if empty, the WARC files that
  // the events name are. `directory` is created if necessary. Each output keeps its file name there; a file
  // in a WACZ file becomes NAME.wacz/archive/NAME. If two files have the same name, all keep their folders
  // below the folder that holds all of them. An empty `directory` is for estimate(): nothing is written.
  // With `wacz`, the files of a WACZ file are below NAME.wacz.parts until pack().
  static absl::StatusOr<std::unique_ptr<Rewriter>> open(const std::vector<std::string>& paths,
                                                        const std::string& directory, bool wacz = false);
  ~Rewriter();
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  // Adds the event of one copy. write() decides what happens to it.
  absl::Status add(PayloadCopy event);
  // Decides on each copy in the order of add(), then writes all files, each under a temporary name first.
  // Of captures with the same payload the earliest stays, whichever the events call the original. Never
  // replaced are: an original that a copy needs, a record that a crawler's revisit record refers to, and a
  // copy whose original is later. Nor does a replaced record become an original. Returns InvalidArgument,
  // before writing anything, if an output would overwrite an input (`others` are inputs, too). Removes
  // temporary files that a killed run left beside its outputs. Other errors: the disk is full, or a file
  // cannot be read.
  absl::Status write(const std::vector<std::string>& others);
  // Instead of write(): decides in the same way, and reports what write() would do, but writes nothing.
  absl::Status estimate();
  // After write(): reads what was written, and looks up the original of each new revisit record as players
  // do: a capture in these files, or in those that were not written again, with the key of the URI, the
  // second and the digest that the record names. One that is not found is a problem.
  absl::Status verify();
  // After write() and verify(): writes a WACZ file for each one that was read (write_wacz()), and removes its
  // parts. One that would lose a file is a problem, and its parts stay.
  absl::Status pack();
  // Counts a copy with another payload.
  void add_other(const OtherCopy& copy);
  const RewriteReport& report() const;

 private:
  absl::Status decide_all();
  struct State;
  explicit Rewriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes a WACZ file again (https://specs.webrecorder.net/wacz): with other WARC files, and with the pages,
// the metadata and everything else that it had. The index and the digests are computed again. `to` is made
// from the WACZ file `original` and the files in `folder`/archive. `needs` are files without which it does
// not replay: datapackage.json names them as Browsertrix does. FailedPrecondition: a WARC file of the
// original is not there, so that it would be lost.
absl::Status write_wacz(const std::string& original, const std::string& folder,
                        const std::vector<std::string>& needs, const std::string& to);

}  // namespace doppel
