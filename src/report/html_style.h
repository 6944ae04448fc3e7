// The style sheet of html.cc.
#pragma once

namespace hone {

constexpr const char* kHtmlStyle = R"css(
:root { color-scheme: light dark; --ink: #1d2430; --muted: #5b6675; --ground: #ffffff; --panel: #f5f7fa;
    --rule: #dde3ea; --accent: #2b66b8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9f0; --muted: #9aa6b5; --ground: #14181e; --panel: #1d232c; --rule: #323b47;
    --accent: #7fb0f2; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
    font: 15px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main, header, footer { max-width: 1080px; margin: 0 auto; padding: 0 28px; }
header { padding-top: 40px; }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 12px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 44px 0 12px; padding-bottom: 6px; border-bottom: 1px solid var(--rule); }
h3 { font-size: 15px; margin: 26px 0 8px; }
p { margin: 8px 0; max-width: 76ch; white-space: pre-line; overflow-wrap: anywhere; }
pre, code, .mono { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
    font-size: 13px; }
pre { background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: 10px 14px;
    margin: 12px 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.findings { list-style: none; margin: 18px 0; padding: 14px 20px; background: var(--panel);
    border-left: 4px solid var(--accent); border-radius: 0 6px 6px 0; }
.findings li { margin: 3px 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: 8px 0 4px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 14px 5px 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--rule);
    }
thead th { color: var(--muted); font-weight: 600; font-size: 13px; vertical-align: bottom;
    border-bottom: 2px solid var(--rule); }
th.number, td.number { text-align: right; padding: 5px 0 5px 18px; white-space: nowrap; }
th.number + th:not(.number), td.number + td:not(.number) { padding-left: 24px; }
tbody th { font-weight: 500; }
.unit, .interval, .note, figcaption { color: var(--muted); font-size: 13px; font-weight: 400; }
.interval { margin-left: 6px; }
.note { margin: 4px 0 0; }
figure { margin: 20px 0; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { margin-bottom: 6px; color: var(--ink); font-weight: 600; font-size: 15px; }
.drawing { background: #ffffff; color: #1d2430; border: 1px solid var(--rule); border-radius: 6px; padding: 12px;
    max-height: 85vh; overflow: auto; }
.drawing svg { max-width: none; margin: 0 auto; }
.hash { overflow-wrap: anywhere; }
footer { margin-top: 48px; padding-top: 14px; padding-bottom: 40px; color: var(--muted); font-size: 13px;
    border-top: 1px solid var(--rule); }
@media screen and (max-width: 700px) {
  main, header, footer { padding-left: 14px; padding-right: 14px; }
  figure { overflow-x: auto; }
  figure svg { max-width: none; }
}
@media print {
  :root { --ink: #000; --muted: #444; --ground: #fff; --panel: #f5f5f5; --rule: #bbb; --accent: #444; }
  body { font-size: 11px; }
  main, header, footer { max-width: none; padding: 0; }
  h2, h3, figcaption { break-after: avoid; }
  figure, tr, .findings { break-inside: avoid; }
  .scroll, .drawing { overflow: visible; max-height: none; }
  .drawing svg { max-width: 100%; max-height: 95vh; }
}
)css";

}  // namespace hone
