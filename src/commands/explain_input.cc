#include "commands/explain_input.h"

#include <functional>
#include <optional>

#include "base/status.h"
#include "base/strings.h"
#include "config/values.h"
#include "files/read/files_source.h"
#include "fmt/format.h"
#include "formats/record.h"
#include "records/metadata.h"

namespace doppel {
namespace {

constexpr size_t kLargest = size_t{1} << 30;
constexpr size_t kIdsKept = 200'000;  // ids for "did you mean"

// Calls `visit` for every record that can be decoded, until it returns false. Counts the others in
// `rejected`. If no record can be decoded, returns the error of the first one.
absl::Status each_document(const FilesSourceOptions& options, const FormatOptions& format, uint64_t& rejected,
                           const std::function<bool(const Record&, const Document&)>& visit) {
  RETURN_IF_ERROR(check_format_of_texts(format));
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, open_files_source(options, ""));
  std::unique_ptr<Decoder> decoder = make_decoder(format);
  absl::Status first_error;
  bool any = false;
  auto reject = [&](const std::string& message) {
    ++rejected;
    if (first_error.ok()) first_error = invalid(message);
  };
  Batch batch;
  while (true) {
    ASSIGN_OR_RETURN(bool more, source->next(batch));
    if (!more) break;
    for (const Problem& p : batch.problems) reject(p.message);
    for (const Record& record : batch.records) {
      Document document;
      absl::Status status;
      if (record.pieces != nullptr) {
        status = invalid("larger than 1 GiB");
      } else {
        status = decoder->decode(record, document);
      }
      if (!status.ok()) {
        reject(fmt::format("{}: {}", place_in_words(record), std_sv(status.message())));
        continue;
      }
      any = true;
      if (!visit(record, document)) return absl::OkStatus();
    }
  }
  return any ? absl::OkStatus() : first_error;
}

bool is_named(std::string_view wanted, std::string_view name, const Metadata& metadata,
              const Document& document) {
  return name == wanted || metadata.event_id() == wanted || (!document.url.empty() && document.url == wanted);
}

absl::Status not_there(const std::string& path, uint64_t documents, std::string_view wanted,
                       const std::vector<std::string>& ids) {
  const bool url = wanted.find("://") != std::string_view::npos;
  return absl::NotFoundError(fmt::format("{}: none of {} documents has the {} {}{}", path, documents,
                                         url ? "URL" : "id", shown(wanted), did_you_mean(wanted, ids)));
}

absl::StatusOr<ExplainInput> one_file(const std::string& path, const FormatOptions& format) {
  FilesSourceOptions options{.paths = {path}, .columns = format, .max_whole_bytes = kLargest};
  if (path == "-") options.layout = Layout::whole;
  ExplainInput input{.name = path};
  uint64_t documents = 0;
  uint64_t rejected = 0;
  RETURN_IF_ERROR(each_document(options, format, rejected, [&](const Record&, const Document& document) {
    if (++documents > 1) return false;
    input.text = document.text;
    input.scope = document.scope;
    return true;
  }));
  if (documents > 1) {
    return invalid(fmt::format(
        "{} holds more than one document; name two of them: doppel explain --in {} ID1 ID2", path, path));
  }
  if (documents == 0) return invalid(fmt::format("{}: contains no document", path));
  return input;
}

}  // namespace

absl::StatusOr<ExplainPair> two_files(const std::string& a, const std::string& b,
                                      const FormatOptions& format) {
  if (a == "-" && b == "-") return invalid("only one of the two can be stdin");
  ExplainPair pair;
  ASSIGN_OR_RETURN(pair[0], one_file(a, format));
  ASSIGN_OR_RETURN(pair[1], one_file(b, format));
  return pair;
}

absl::StatusOr<ExplainPair> two_ids(const std::string& path, const std::string& a, const std::string& b,
                                    const FormatOptions& format, const std::vector<NamedPath>& outputs) {
  std::array<std::optional<ExplainInput>, 2> found;
  const std::array<std::string_view, 2> wanted{a, b};
  std::vector<std::string> ids;
  uint64_t documents = 0;
  uint64_t rejected = 0;
  auto know = [&ids](std::string_view id) {
    if (!id.empty() && ids.size() < kIdsKept) ids.emplace_back(id);
  };
  auto visit = [&](const Record& record, const Document& document) {
    if (document.skip != Reason::none)
      return true;  // such as a WARC request record, which has the page's URL, too
    ++documents;
    const Metadata metadata{
        .source = record.source, .offset = record.offset, .id = document.id, .whole_file = record.whole_file};
    const std::string name = metadata.name();
    for (size_t side = 0; side < 2; ++side) {
      if (found[side].has_value() || !is_named(wanted[side], name, metadata, document)) continue;
      found[side] = {.name = name, .text = std::string(document.text), .scope = std::string(document.scope)};
      break;  // for the same id twice, the second document is the next one with this id
    }
    know(name);
    know(document.url);
    return !found[0].has_value() || !found[1].has_value();
  };
  RETURN_IF_ERROR(
      each_document({.paths = {path}, .columns = format, .max_whole_bytes = kLargest, .outputs = outputs},
                    format, rejected, visit));
  std::string missing;
  for (size_t side = 0; side < 2; ++side) {
    if (found[side].has_value()) continue;
    if (!missing.empty()) missing += '\n';
    if (a == b && side == 1 && found[0].has_value()) {
      missing += fmt::format("{}: only one document has the id {}", path, shown(b));
    } else {
      missing += std_sv(not_there(path, documents, wanted[side], ids).message());
    }
    if (rejected != 0) missing += fmt::format("; {} records could not be read", rejected);
  }
  if (!missing.empty()) return absl::NotFoundError(missing);
  return ExplainPair{*std::move(found[0]), *std::move(found[1])};
}

absl::StatusOr<std::vector<FoundDocument>> documents_of(const std::vector<std::string>& paths,
                                                        const FormatOptions& format) {
  std::vector<FoundDocument> found;
  uint64_t rejected = 0;
  RETURN_IF_ERROR(each_document({.paths = paths, .max_whole_bytes = kLargest}, format, rejected,
                                [&](const Record& record, const Document& document) {
                                  if (document.skip != Reason::none) return true;
                                  const Metadata metadata = metadata_of(record, document);
                                  found.push_back({metadata.name(), std::string(document.url),
                                                   std::string(document.text),
                                                   std::string(document.text_source)});
                                  return true;
                                }));
  if (found.empty()) return invalid(fmt::format("{}: contains no document", paths.front()));
  return found;
}

absl::StatusOr<std::vector<FoundDocument>> documents_named(const std::vector<std::string>& paths,
                                                           const std::vector<std::string>& names,
                                                           const FormatOptions& format) {
  std::vector<std::optional<FoundDocument>> found(names.size());
  std::vector<std::string> ids;
  size_t left = names.size();
  uint64_t documents = 0;
  uint64_t rejected = 0;
  std::vector<Reason> skipped(names.size(), Reason::none);
  auto visit = [&](const Record& record, const Document& document) {
    const Metadata metadata = metadata_of(record, document);
    const std::string name = metadata.name();
    if (document.skip != Reason::none) {
      for (size_t i = 0; i < names.size(); ++i) {
        // Not a WARC request, which has the page's URL, too.
        if (document.skip != Reason::record_type && is_named(names[i], name, metadata, document))
          skipped[i] = document.skip;
      }
      return true;
    }
    ++documents;
    for (size_t i = 0; i < names.size(); ++i) {
      if (found[i] || !is_named(names[i], name, metadata, document)) continue;
      found[i] = {name, std::string(document.url), std::string(document.text),
                  std::string(document.text_source)};
      --left;
    }
    for (const std::string& id : {name, std::string(document.url)}) {
      if (!id.empty() && ids.size() < kIdsKept) ids.push_back(id);
    }
    return left > 0;
  };
  RETURN_IF_ERROR(each_document({.paths = paths, .max_whole_bytes = kLargest}, format, rejected, visit));
  std::vector<FoundDocument> out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!found[i] && skipped[i] != Reason::none) {
      return absl::NotFoundError(fmt::format("{}: {} is there, and has no text that is compared ({})",
                                             paths.front(), shown(names[i]), message_of(skipped[i])));
    }
    if (!found[i]) return not_there(paths.front(), documents, names[i], ids);
    out.push_back(*std::move(found[i]));
  }
  return out;
}

}  // namespace doppel
