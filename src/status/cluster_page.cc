#include <fmt/format.h>

#include "records/events.h"
#include "status/page.h"
#include "status/page_parts.h"

namespace doppel {
namespace {

using namespace page;

std::string links(std::string_view id) {
  return fmt::format(
      "<footer class=soft><p><a href=\"/\">doppel</a> · <a href=\"/v1/clusters/{}\">as "
      "JSON</a></p></footer>\n",
      escape_path(id));
}

}  // namespace

std::string cluster_page(std::string_view id, const Cluster& cluster, int64_t now_ms) {
  std::string out = begin("doppel: cluster", 0);
  out += "<header><h1>Cluster</h1><p class=soft>An original and its copies.</p></header>\n<main>\n";
  out += "<section class=wide id=original><h2>Original</h2>\n<p>" + document(cluster.original) + "</p>\n<dl>";
  fact(out, "exact copies", count(cluster.exact));
  fact(out, "near copies", count(cluster.near));
  fact(out, "first copy", span(now_ms - cluster.first_ms) + " ago");
  fact(out, "last copy", span(now_ms - cluster.last_ms) + " ago");
  out += fmt::format("</dl>\n<p class=soft>Counted since {}.</p></section>\n",
                     format_time(cluster.since_ms / 1000 * 1000));
  out +=
      "<section class=wide id=copies><h2>Last copies</h2>\n<table class=labelled><thead><tr><th>document"
      "<th class=n>similarity<th>kind<th class=n>ago</thead><tbody>\n";
  for (const Copy* copy : cluster.last()) {
    out += fmt::format(
        "<tr><td data-label=document>{}<td class=n data-label=similarity>{:.3f}{}<td data-label=kind>{}"
        "<td class=n data-label=ago>{}\n",
        document(copy->document), copy->similarity_ppm / 1e6, copy->estimated ? " (estimated)" : "",
        kind_name(copy->kind), span(now_ms - copy->at_ms));
  }
  out += "</tbody></table></section>\n</main>\n" + links(id) + "</body>\n</html>\n";
  return out;
}

std::string no_cluster_page(std::string_view id) {
  return begin("doppel: cluster", 0) +
         "<header><h1>Cluster</h1></header>\n<main><section class=wide><p>No cluster of this id grew "
         "recently. The API searches all originals.</p></section></main>\n" +
         links(id) + "</body>\n</html>\n";
}

}  // namespace doppel
