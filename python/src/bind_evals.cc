// doppel decontaminate as doppel_dedup._core.decontaminate.
#include <cmath>

#include "bind.h"
#include "decontamination.h"
#include "errors.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"
#include "watch.h"

namespace doppel::python {
namespace {

using Names = std::vector<std::string>;

nb::dict decontaminate_bound(const Names& evals, const Names& paths, const Names& question,
                             const Names& answer, double changed, const std::string& keep,
                             const std::vector<std::pair<std::string, std::string>>& sets,
                             nb::handle progress) {
  DecontaminateFiles job{.evals = evals,
                         .paths = paths,
                         .fields = {},
                         .rule = {.changed_ppm = static_cast<uint32_t>(std::lround(changed * 1e6))},
                         .keep = keep,
                         .sets = sets};
  if (!question.empty()) job.fields.question = question;
  if (!answer.empty()) job.fields.answer = answer;
  Watch watch(progress);
  absl::StatusOr<DecontaminatedFiles> result;
  {
    const nb::gil_scoped_release release;
    result = decontaminate_files(job, [&](uint64_t done) { return watch.go_on(done); });
  }
  const DecontaminatedFiles done = value_or_raise(std::move(result));
  watch.finish(done.counters.documents);
  nb::dict out;
  out["documents"] = done.counters.documents;
  out["texts"] = done.counters.texts;
  out["contaminated"] = done.counters.contaminated;
  out["rejected"] = done.counters.rejected;
  out["lines"] = nb::bytes(done.lines.data(), done.lines.size());
  out["items"] = done.items;
  out["too_short"] = done.too_short;
  out["common"] = done.common;
  out["messages"] = done.messages;
  return out;
}

}  // namespace

void bind_evals(nb::module_& m) {
  m.def("decontaminate", decontaminate_bound, nb::arg("evals"), nb::arg("paths"), nb::arg("question"),
        nb::arg("answer"), nb::arg("changed"), nb::arg("keep"), nb::arg("sets"), nb::arg("progress").none());
}

}  // namespace doppel::python
