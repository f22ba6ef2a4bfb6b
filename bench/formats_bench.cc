// How fast bytes become documents: lines out of files in the page cache, records out of JSON and Avro.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "files/read/files_source.h"
#include "formats/decoder.h"
#include "formats/schema/avro.h"

namespace doppel {
namespace {

std::string document(std::mt19937_64& random, size_t bytes, bool escapes) {
  std::string text;
  while (text.size() < bytes) {
    for (size_t n = 2 + random() % 8; n > 0; --n) text.push_back(static_cast<char>('a' + random() % 26));
    text += escapes && random() % 10 == 0 ? "\\n" : " ";
  }
  return R"({"id": ")" + std::to_string(random()) + R"(", "url": "https://example.org/)" +
         std::to_string(random()) +
         R"(", "date": "2024-05-06T07:08:09Z", "lang": "en", "status": 200, "text": ")" + text + "\"}";
}

// A JSONL file that is removed at the end.
class JsonlFile {
 public:
  JsonlFile(size_t line_bytes, size_t total) {
    std::string name = "/tmp/doppel-bench-XXXXXX";
    int fd = ::mkstemp(name.data());
    if (fd < 0) std::abort();
    ::close(fd);
    path = name + ".jsonl";
    std::rename(name.c_str(), path.c_str());
    std::mt19937_64 random(1);
    std::ofstream out(path, std::ios::binary);
    std::vector<std::string> lines;
    for (int i = 0; i < 256; ++i) lines.push_back(document(random, line_bytes, false) + "\n");
    for (size_t i = 0; bytes < total; ++i) {
      out << lines[i % lines.size()];
      bytes += lines[i % lines.size()].size();
    }
  }
  JsonlFile(const JsonlFile&) = delete;
  JsonlFile& operator=(const JsonlFile&) = delete;
  ~JsonlFile() { std::remove(path.c_str()); }
  std::string path;
  size_t bytes = 0;
};

void lines_of_a_file(benchmark::State& state) {
  JsonlFile file(static_cast<size_t>(state.range(0)), 256 << 20);
  FilesSourceOptions options;
  options.paths = {file.path};
  options.buffer_bytes = static_cast<size_t>(state.range(1)) << 10;
  uint64_t records = 0;
  // Later runs of a program find the buffers warm; so do all but the first here.
  for (auto _ : state) {
    auto source = open_files_source(options, "");
    Batch batch;
    while (*(*source)->next(batch)) records += batch.records.size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(file.bytes) * state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(records));
}
BENCHMARK(lines_of_a_file)
    ->ArgNames({"line", "buffer_kb"})
    ->ArgsProduct({{4096}, {256, 1024, 4096}})
    ->Args({200, 1024})
    ->Unit(benchmark::kMillisecond);

// What the above can be compared with.
void only_reading(benchmark::State& state) {
  JsonlFile file(4096, 256 << 20);
  std::vector<char> buffer(static_cast<size_t>(state.range(0)) << 10);
  for (auto _ : state) {
    int fd = ::open(file.path.c_str(), O_RDONLY);
    while (::read(fd, buffer.data(), buffer.size()) > 0) benchmark::ClobberMemory();
    ::close(fd);
  }
  state.SetBytesProcessed(static_cast<int64_t>(file.bytes) * state.iterations());
}
BENCHMARK(only_reading)->ArgName("buffer_kb")->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void decode_json(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<std::string> documents;
  size_t bytes = 0;
  for (int i = 0; i < 64; ++i) {
    documents.push_back(document(random, static_cast<size_t>(state.range(0)), state.range(1) != 0));
    bytes += documents.back().size();
    documents.back().reserve(documents.back().size() + kRecordPadding);
  }
  auto decoder = make_decoder(FormatOptions());
  Record record;
  Document out;
  for (auto _ : state) {
    for (const std::string& json : documents) {
      record.value = json;
      if (!decoder->decode(record, out).ok()) state.SkipWithError("not decoded");
      benchmark::DoNotOptimize(out);
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(documents.size()) * state.iterations());
}
// The same documents in Avro.
void decode_avro(benchmark::State& state) {
  constexpr std::string_view kSchema = R"({"type":"record","name":"D","fields":[
      {"name":"id","type":"string"},{"name":"url","type":"string"},
      {"name":"date","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"lang","type":"string"},
      {"name":"status","type":"int"},{"name":"text","type":["null","string"]}]})";
  const auto schema = make_avro_schema(std::array{kSchema});
  const auto number = [](std::string& to, int64_t value) {
    put_varint(to, static_cast<uint64_t>(value) << 1);
  };
  const auto text = [&](std::string& to, std::string_view value) {
    number(to, static_cast<int64_t>(value.size()));
    to += value;
  };
  std::mt19937_64 random(1);
  std::vector<std::string> documents;
  size_t bytes = 0;
  for (int i = 0; i < 64; ++i) {
    const std::string json = document(random, static_cast<size_t>(state.range(0)), false);
    const size_t begin = json.find("\"text\"") + 9;
    std::string& record = documents.emplace_back(5, '\0');
    text(record, std::to_string(random()));
    text(record, "https://example.org/" + std::to_string(random()));
    number(record, 1'714'979'289'000);
    text(record, "en");
    number(record, 200);
    number(record, 1);
    text(record, std::string_view(json).substr(begin, json.size() - begin - 2));
    bytes += record.size();
  }
  FormatOptions options;
  options.format = "avro";
  auto decoder = make_decoder(options);
  Record record;
  record.schema = schema->get();
  Document out;
  for (auto _ : state) {
    for (const std::string& avro : documents) {
      record.value = avro;
      if (!decoder->decode(record, out).ok()) state.SkipWithError("not decoded");
      benchmark::DoNotOptimize(out);
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(documents.size()) * state.iterations());
}
BENCHMARK(decode_avro)->ArgName("bytes")->Arg(500)->Arg(4096)->Arg(65536);

BENCHMARK(decode_json)->ArgNames({"bytes", "escapes"})->ArgsProduct({{500, 4096, 65536}, {0, 1}});

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
