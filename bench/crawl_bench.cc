// How fast what crawlers send becomes documents: their JSON, pages, base64, WARC files. Beside each the floor
// that the library under it sets.

#include <benchmark/benchmark.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "files/read/files_source.h"
#include "formats/bytes/base64.h"
#include "formats/decoder.h"
#include "formats/html/html.h"
#include "formats/html/html_parser.h"
#include "packed.h"
#include "temporary_directory.h"

namespace doppel {
namespace {

// Words as frequent as in a language, so that they also pack like one.
class Words {
 public:
  Words() {
    for (int i = 0; i < 5000; ++i) {
      std::string word;
      for (size_t n = 2 + random_() % 9; n > 0; --n) word.push_back(static_cast<char>('a' + random_() % 26));
      words_.push_back(word);
    }
  }
  std::string operator()(int count) {
    std::string out;
    for (; count > 0; --count) {
      const double rank = std::uniform_real_distribution<>(0, 1)(random_);
      out += words_[static_cast<size_t>(rank * rank * rank * static_cast<double>(words_.size()))];
      out.push_back(random_() % 12 == 0 ? '\n' : ' ');
    }
    return out;
  }
  uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_{1};
  std::vector<std::string> words_;
};

// Little but text, as documentation is.
std::string plain_page(Words& words, size_t bytes) {
  std::string out = "<!doctype html><html><head><title>t</title></head><body>";
  while (out.size() < bytes) {
    out += "<p class=\"text\">" + words(40) + "<b>" + words(2) + "</b> " + words(20) + "</p>\n";
  }
  return out + "</body></html>";
}

// As a newspaper's: scripts, styles, menus, teasers, and an article among them.
std::string news_page(Words& words, size_t bytes) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + words(6) +
                    "</title>\n<style>";
  while (out.size() < bytes / 8)
    out += "." + words(1) + "{margin:0 auto;padding:4px;color:#" + words(1) + "}\n";
  out += "</style><script>";
  while (out.size() < bytes / 3)
    out += "window." + words(1) + "=function(a,b){return a<b&&" + words(1) + "};\n";
  out += "</script></head><body class=\"page page--article\">\n<nav><ul>";
  while (out.size() < bytes / 2) {
    out += "<li class=\"menu__item\"><a class=\"menu__link\" data-id=\"" + std::to_string(words.number()) +
           "\" href=\"/section/" + std::to_string(words.number()) + ".html\">" + words(2) + "</a></li>\n";
  }
  out += "</ul></nav><main><article><h1>" + words(8) + "</h1>";
  while (out.size() < bytes * 3 / 4)
    out += "<p>" + words(50) + " <a href=\"/x\">" + words(2) + "</a>, &quot;" + words(9) + "&quot;</p>\n";
  out += "</article><aside>";
  while (out.size() < bytes) {
    out += "<div class=\"teaser\"><a href=\"/" + std::to_string(words.number()) +
           "\"><img src=\"/i.jpg\" alt=\"" + words(3) + "\"><span>" + words(7) + "</span></a></div>\n";
  }
  return out + "</aside></main><footer>" + words(20) + "</footer></body></html>";
}

std::string page(const char* kind, size_t bytes) {
  Words words;
  return std::strcmp(kind, "news") == 0 ? news_page(words, bytes) : plain_page(words, bytes);
}

void html(benchmark::State& state, const char* kind, Extract extract) {
  const std::string html = page(kind, static_cast<size_t>(state.range(0)));
  HtmlExtractor extractor;
  for (auto _ : state) benchmark::DoNotOptimize(extractor.text(html, extract));
  state.SetBytesProcessed(static_cast<int64_t>(html.size()) * state.iterations());
}

// Parsing alone: the bytes of text are counted.
class Counting final : public HtmlEvents {
 public:
  void start(const Element& /*element*/, HtmlAttributes /*attributes*/) override { ++bytes; }
  void end() override {}
  void end_link() override {}
  void text(std::string_view text) override { bytes += text.size(); }
  size_t bytes = 0;
};

void html_parse(benchmark::State& state, const char* kind) {
  const std::string html = page(kind, static_cast<size_t>(state.range(0)));
  HtmlParser parser;
  Counting events;
  for (auto _ : state) {
    if (!parser.parse(html, events).ok()) state.SkipWithError("not parsed");
  }
  benchmark::DoNotOptimize(events.bytes);
  state.SetBytesProcessed(static_cast<int64_t>(html.size()) * state.iterations());
}

BENCHMARK_CAPTURE(html_parse, text, "text")->Arg(4096)->Arg(65536);
BENCHMARK_CAPTURE(html, text_visible, "text", Extract::visible)->Arg(4096)->Arg(65536);
BENCHMARK_CAPTURE(html, text_main, "text", Extract::main)->Arg(65536);
BENCHMARK_CAPTURE(html_parse, news, "news")->Arg(65536);
BENCHMARK_CAPTURE(html, news_visible, "news", Extract::visible)->Arg(65536);
BENCHMARK_CAPTURE(html, news_main, "news", Extract::main)->Arg(65536);

void base64(benchmark::State& state) {
  std::string text(1 << 20, 'A');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  std::string out;
  for (auto _ : state) {
    if (!decode_base64(text, out)) state.SkipWithError("not decoded");
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}
BENCHMARK(base64);

// What each crawler says of a page; TEXT is its body.
constexpr const char* kScrapyCluster =
    R"({"appid":"app","crawlid":"c1","url":"https://example.org/a/b.html","response_url":"https://example.org/a/b.html","status_code":200,"status_msg":"OK","response_headers":{"Content-Type":["text/plain; charset=utf-8"],"Server":["nginx"],"Date":["Mon, 06 May 2024 07:08:09 GMT"]},"request_headers":{"Accept":["*/*"],"User-Agent":["Scrapy/1.5"]},"links":[],"attrs":null,"success":true,"exception":null,"encoding":"utf-8","timestamp":"2024-05-06T07:08:09.123456","body":"TEXT"})";
constexpr const char* kAche =
    R"({"url":"https://example.org/a/b.html","redirected_url":"https://example.org/a/b.html","content_type":"text/plain","fetch_time":1714979289,"crawler_id":"ache","response_headers":{"Content-Type":["text/plain"],"Server":["nginx"]},"content":"TEXT"})";
constexpr const char* kNutch =
    R"({"id":["https://example.org/a/b.html"],"url":["https://example.org/a/b.html"],"host":["example.org"],"title":["A title"],"digest":["0123456789abcdef0123456789abcdef"],"boost":["1.0"],"tstamp":["2024-05-06T07:08:09.123Z"],"content":["TEXT"]})";
constexpr const char* kNewsPlease =
    R"({"authors":["A. Uthor"],"date_download":"2024-05-06 07:08:09","date_modify":"None","date_publish":"2024-05-05 17:00:00","description":"What it is about","filename":"b.json","image_url":"https://example.org/a.jpg","language":"en","localpath":null,"source_domain":"example.org","title":"A title","title_page":null,"title_rss":null,"url":"https://example.org/a/b.html","maintext":"TEXT"})";
constexpr const char* kPagesJsonl =
    R"({"id":"0b5c2b44-5b7e-4c35-a1ba-7f4ef7f1d6ff","url":"https://example.org/a/b.html","title":"A title","loadState":4,"mime":"text/html","seed":true,"depth":0,"ts":"2024-05-06T07:08:09.123Z","status":200,"text":"TEXT"})";

struct Names {
  const char *id, *text, *date;
};

// A preset, or "json" with the places of the parts configured: the same bytes.
void preset(benchmark::State& state, const char* format, const char* shape, Names names) {
  Words words;
  std::string text = words(1000).substr(0, 4096);
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::string json = shape;
  json.replace(json.find("TEXT"), 4, text);
  json.reserve(json.size() + kRecordPadding);
  FormatOptions options;
  options.format = format;
  options.extract = ExtractPart::none;
  options.id_fields = {names.id};
  options.text_fields = {names.text};
  options.date_fields = {names.date};
  auto decoder = make_decoder(options);
  Record record;
  record.value = json;
  Document out;
  for (auto _ : state) {
    if (!decoder->decode(record, out).ok()) state.SkipWithError("not decoded");
    benchmark::DoNotOptimize(out);
  }
  if (out.text != text || !out.timestamp_ms) state.SkipWithError("wrongly decoded");
  state.SetBytesProcessed(static_cast<int64_t>(json.size()) * state.iterations());
}

#define PRESET(name, format, shape, ...)                       \
  BENCHMARK_CAPTURE(preset, name, format, shape, __VA_ARGS__); \
  BENCHMARK_CAPTURE(preset, name##_as_json, "json", shape, __VA_ARGS__)
PRESET(scrapy_cluster, "scrapy-cluster", kScrapyCluster, Names{"url", "body", "timestamp"});
PRESET(ache, "ache", kAche, Names{"url", "content", "fetch_time"});
PRESET(nutch, "nutch", kNutch, Names{"id", "content", "tstamp"});
PRESET(news_please, "news-please", kNewsPlease, Names{"url", "maintext", "date_publish"});
PRESET(pages_jsonl, "pages-jsonl", kPagesJsonl, Names{"id", "text", "ts"});

// Responses of 4 to 64 KB with a payload digest, as crawlers write them (without one, computing it takes a
// tenth more time); removed at the end.
class WarcFile {
 public:
  WarcFile() {
    std::ofstream out(path, std::ios::binary);
    Words words;
    for (int i = 0; i < 400; ++i) {
      const std::string page = news_page(words, size_t{4096} << (i % 5));
      const std::string http =
          "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
          std::to_string(page.size()) + "\r\nServer: nginx\r\n\r\n" + page;
      const std::string record =
          "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-" +
          std::to_string(100'000'000'000 + i) + ">\r\nWARC-Target-URI: https://example.org/" +
          std::to_string(i) +
          "\r\nWARC-Date: 2024-05-06T07:08:09Z\r\nWARC-Payload-Digest: "
          "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\nContent-Type: application/http; msgtype=response\r\n"
          "Content-Length: " +
          std::to_string(http.size()) + "\r\n\r\n" + http + "\r\n\r\n";
      out << gz(record);
      unpacked += record.size();
      ++records;
    }
  }

 private:
  const TemporaryDirectory folder_;

 public:
  const std::string path = folder_ / "crawl.warc.gz";
  size_t unpacked = 0, records = 0;
};

void warc_gz(benchmark::State& state) {
  const WarcFile file;
  FilesSourceOptions files;
  files.paths = {file.path};
  FormatOptions format;
  format.format = "warc";
  format.extract = ExtractPart::none;
  auto decoder = make_decoder(format);
  Document out;
  for (auto _ : state) {
    auto source = open_files_source(files, "");
    Batch batch;
    size_t records = 0;
    while (*(*source)->next(batch)) {
      for (const Record& record : batch.records) {
        if (!decoder->decode(record, out).ok()) state.SkipWithError("not decoded");
        benchmark::DoNotOptimize(out);
        ++records;
      }
    }
    if (records != file.records) state.SkipWithError("records are missing");
  }
  state.SetBytesProcessed(static_cast<int64_t>(file.unpacked) * state.iterations());
}
BENCHMARK(warc_gz)->Unit(benchmark::kMillisecond);

// The same file, only unpacked.
void warc_gz_floor(benchmark::State& state) {
  const WarcFile file;
  std::vector<char> packed(std::filesystem::file_size(file.path)), unpacked(64 << 10);
  for (auto _ : state) {
    std::ifstream(file.path, std::ios::binary)
        .read(packed.data(), static_cast<std::streamsize>(packed.size()));
    z_stream z = {};
    inflateInit2(&z, 15 + 16);
    z.next_in = reinterpret_cast<Bytef*>(packed.data());
    z.avail_in = static_cast<uInt>(packed.size());
    size_t bytes = 0;
    while (z.avail_in > 0) {
      z.next_out = reinterpret_cast<Bytef*>(unpacked.data());
      z.avail_out = static_cast<uInt>(unpacked.size());
      const int result = inflate(&z, Z_NO_FLUSH);
      bytes += unpacked.size() - z.avail_out;
      if (result == Z_STREAM_END) inflateReset(&z);
    }
    inflateEnd(&z);
    if (bytes != file.unpacked) state.SkipWithError("not all was unpacked");
  }
  state.SetBytesProcessed(static_cast<int64_t>(file.unpacked) * state.iterations());
}
BENCHMARK(warc_gz_floor)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doppel

BENCHMARK_MAIN();
