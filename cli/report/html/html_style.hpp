// Declares the style of the HTML report, for screens with a light or a dark scheme and for paper.
#pragma once

namespace nlsq::cli {

inline constexpr const char* kHtmlStyle = R"(:root { color-scheme: light dark;
  --page: #ffffff; --text: #1a202c; --soft: #4a5568; --rule: #d5dbe3; --panel: #f6f8fa;
  --data: #1a4f8a; --curve: #c05621; --good: #276749; --bad: #c53030; --plus: #c05621; --minus: #1a4f8a;
  --group0: #1a4f8a; --group1: #c05621; --group2: #2f855a; --group3: #805ad5; --group4: #b7791f;
  --group5: #97266d; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #14181f; --text: #e6eaf0; --soft: #a3adba; --rule: #333c49; --panel: #1c222b;
  --data: #7db4f0; --curve: #f6995c; --good: #68d391; --bad: #fc8181; --plus: #f6995c; --minus: #7db4f0;
  --group0: #7db4f0; --group1: #f6995c; --group2: #68d391; --group3: #b794f4; --group4: #ecc94b;
  --group5: #f687b3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 24px 20px 40px; }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 28px 0 8px; }
code, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { background: var(--panel); padding: 10px 12px; border-radius: 4px; margin: 0; }
.verdict { background: var(--panel); border-left: 4px solid var(--good); padding: 8px 12px;
  margin: 12px 0; }
.verdict.bad { border-color: var(--bad); }
.verdict.good strong { color: var(--good); }
.verdict.bad strong, .warnings { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px 4px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; }
.numbers th[scope="col"] { color: var(--soft); font-weight: 500; }
.numbers td, .numbers th[scope="col"] { text-align: right; padding-left: 12px; }
.numbers th[scope="col"]:first-child { text-align: left; padding-left: 0; }
.numbers th.words { text-align: left !important; }
.numbers td { white-space: nowrap; }
.numbers td.words { text-align: left; white-space: normal; min-width: 140px; }
.facts th { color: var(--soft); font-weight: 500; white-space: nowrap; padding-right: 20px; }
.facts td { overflow-wrap: anywhere; }
.matrix td { padding: 4px 10px; }
.diagonal { color: var(--soft); }
.plus { background: color-mix(in srgb, var(--plus) var(--size), transparent); }
.minus { background: color-mix(in srgb, var(--minus) var(--size), transparent); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
  column-gap: 36px; }
.pair section { min-width: 0; }
.pair .wide { grid-column: 1 / -1; }
figure { margin: 0; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: 13px; }
.keys { margin: 0 0 4px 74px; font-size: 13px; color: var(--soft); }
.key { margin-right: 20px; white-space: nowrap; }
.key svg { display: inline-block; width: 24px; height: 10px; margin-right: 6px; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .label { font-size: 13px; fill: var(--text); }
.axis { fill: none; stroke: var(--soft); }
.grid { fill: none; stroke: var(--rule); stroke-width: 0.6; }
.data { fill: none; stroke: var(--data); stroke-width: 5.5; stroke-linecap: round; }
.data.small { stroke-width: 3.6; }
.data.tiny { stroke-width: 2; stroke-opacity: 0.55; }
.bars { fill: none; stroke: var(--data); stroke-width: 1; stroke-opacity: 0.7; }
.curve { fill: none; stroke: var(--curve); stroke-width: 2; stroke-linejoin: round; }
.band { fill: var(--curve); fill-opacity: 0.22; stroke: none; }
.component { fill: none; stroke-width: 1.5; stroke-dasharray: 6 3; }
.c1 { stroke: var(--group0); } .c2 { stroke: var(--group2); } .c3 { stroke: var(--group3); } .c4 { stroke: var(--group4); }
.level { fill: none; stroke: var(--curve); stroke-width: 1.4; }
.path { fill: none; stroke: var(--rule); stroke-width: 1.4; }
.group0 { stroke: var(--group0); } .group1 { stroke: var(--group1); } .group2 { stroke: var(--group2); }
.group3 { stroke: var(--group3); } .group4 { stroke: var(--group4); } .group5 { stroke: var(--group5); }
details { margin-top: 28px; }
summary { cursor: pointer; font-size: 18px; font-weight: 600; }
footer { margin-top: 28px; color: var(--soft); font-size: 13px; }
@media print { main { max-width: none; padding: 0; } body { font-size: 12px; }
  figure, section, tr { break-inside: avoid; } h2 { break-after: avoid; }
  details:not([open]) { display: none; }
  .band, .plus, .minus, .verdict, pre { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";

}  // namespace nlsq::cli
