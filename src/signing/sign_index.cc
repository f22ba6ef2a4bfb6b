#include "signing/sign_index.h"

#include <fmt/format.h>

#include "base/status.h"
#include "engine/signed_record.h"
#include "open/signed_originals.h"
#include "state/scheme.h"
#include "state/state_view.h"

namespace doppel {

absl::StatusOr<SignCounters> sign_index(const SignIndex& job) {
  constexpr size_t kBatch = 1024;
  ASSIGN_OR_RETURN(const std::unique_ptr<StateView> view, StateView::open(job.directory));
  RETURN_IF_ERROR(check_handed_on(view->identity().data_scheme));
  ASSIGN_OR_RETURN(const Scheme scheme, scheme_of_index(job.engine.scheme, view->identity().data_scheme));
  ASSIGN_OR_RETURN(const std::unique_ptr<SignedOutput> output,
                   signed_file_output(job.output, {.scheme = scheme.describe(),
                                                   .text = scheme.text,
                                                   .format = job.options.input.format}));
  const uint64_t fingerprint = scheme_fingerprint(scheme);
  SignCounters counters;
  Batch batch;
  std::vector<std::string> records;
  absl::Status status;
  const auto write = [&] {
    if (status.ok() && !records.empty()) status = output->write({batch, records});
    records.clear();
  };
  view->read(
      [&](const StoredDocument& original) {
        if (!original.live) return true;
        status = encode_original(fingerprint, scheme.num_perm, job.engine.with_sets(), original.row.row,
                                 original.body, records.emplace_back());
        ++counters.records;
        counters.signed_bytes += records.back().size();
        if (records.size() == kBatch) write();
        return status.ok() && !job.stop();
      },
      [](double) {});
  write();
  RETURN_IF_ERROR(status);
  if (!view->damage().empty()) {
    const Damage& first = view->damage().front();
    return absl::DataLossError(
        fmt::format("{}: byte {}: {}; doppel inspect --verify shows all that is damaged", first.file,
                    first.offset, first.what));
  }
  if (job.stop()) return counters;
  RETURN_IF_ERROR(output->finish());
  return counters;
}

}  // namespace doppel
