// Blocks of Mermaid become drawings, in the colours of whoever looks.
const blocks = [...document.querySelectorAll("pre > code.language-mermaid")];
if (blocks.length) {
  for (const code of blocks) {
    const pre = code.parentElement;
    pre.textContent = code.textContent;
    pre.className = "mermaid";
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral",
    flowchart: { useMaxWidth: false }, sequence: { useMaxWidth: false } });
  mermaid.run({ nodes: document.querySelectorAll("pre.mermaid") });
}
