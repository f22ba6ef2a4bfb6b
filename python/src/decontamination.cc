#include "decontamination.h"

#include <filesystem>

#include "base/status.h"
#include "config/config.h"
#include "evals/decontaminate.h"
#include "files/places.h"
#include "files/read/files_source.h"
#include "open/setup.h"

namespace doppel::python {

absl::StatusOr<DecontaminatedFiles> decontaminate_files(const DecontaminateFiles& job,
                                                        const std::function<bool(uint64_t)>& go_on) {
  constexpr size_t kMessagesMost = 20;
  DecontaminatedFiles out;
  const auto say = [&](const std::string& message) {
    if (out.messages.size() < kMessagesMost) out.messages.push_back(message);
  };
  ASSIGN_OR_RETURN(const Config config, load_config({.sets = job.sets}));
  const Options& o = config.options;
  RETURN_IF_ERROR(check_format_of_texts(o.input));
  std::vector<NamedPath> inputs;
  for (const std::string& path : job.evals) inputs.push_back({"evals", path});
  for (const std::string& path : job.paths) inputs.push_back({"src", path});
  RETURN_IF_ERROR(check_outputs(std::vector<NamedPath>{{"keep", job.keep}}, inputs));
  ASSIGN_OR_RETURN(const Items items, read_items(job.evals, job.fields, job.rule, say));
  if (items.items.empty()) return invalid("evals: there are no items");
  for (const Item& item : items.items) out.items.push_back(item.id);
  for (const uint32_t item : items.too_short) out.too_short.push_back(items.items[item].id);
  for (const uint32_t item : items.common) out.common.push_back(items.items[item].id);

  FilesSinkOptions keep{.keep = job.keep};
  FilesSourceOptions from{.paths = job.paths};
  from.columns = o.input;
  from.batch_records = static_cast<size_t>(o.batch_documents);
  from.batch_bytes = o.batch_bytes;
  from.outputs = {{"keep", job.keep}};
  if (keep.keep.ends_with(".parquet"))
    from.kept_columns = keep.kept_columns = std::make_shared<parquet::KeptColumns>();
  if (std::filesystem::is_directory(keep.keep)) {
    from.output_directories.push_back(keep.keep);
    std::swap(keep.keep, keep.keep_directory);
  }
  from.kept_in = keep.keep;
  ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open_files_source(from, ""));
  const auto lines = [&](std::string_view more) {
    out.lines += more;
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<CleanOutput> output,
                   CleanOutput::open({.lines = lines, .keep = keep}, say));
  bool stopped = false;
  Decontaminate run{.source = *source,
                    .items = items,
                    .to = *output,
                    .format = o.input,
                    .threads = thread_count(o),
                    .stop = [&] { return stopped; },
                    .report = say,
                    .progress = [&](const DecontaminateCounters& c) { stopped = !go_on(c.documents); }};
  ASSIGN_OR_RETURN(out.counters, decontaminate(run));
  RETURN_IF_ERROR(output->finish());
  return out;
}

}  // namespace doppel::python
