// The job editor: CodeMirror 6 with JSON and HCL, coloured by the page's tokens, mounted with a CSP nonce.
// The one export is what static/js/controllers/editor.js builds on; nothing else is reachable from the page.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { hcl } from "./hcl.js";

const LANGUAGES = { hcl: () => StreamLanguage.define(hcl), json };

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName], color: "var(--brand-ink)", fontWeight: "600" },
  { tag: [tags.propertyName, tags.attributeName], color: "var(--brand-ink)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--delayed-ink)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--scheduling-ink)" },
  { tag: [tags.function(tags.variableName), tags.special(tags.variableName)], color: "var(--applying-ink)" },
  { tag: tags.comment, color: "var(--ink-3)" },
  { tag: [tags.bracket, tags.operator, tags.punctuation], color: "var(--ink-2)" },
  { tag: tags.invalid, color: "var(--failed-ink)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--surface-1)", color: "var(--ink-1)", fontSize: "var(--text-xs)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.25rem" },
  ".cm-content": { padding: "var(--space-2) 0", caretColor: "var(--ink-1)" },
  ".cm-line": { padding: "0 var(--space-3)" },
  ".cm-gutters": { backgroundColor: "var(--surface-2)", color: "var(--ink-3)", border: "0", borderInlineEnd: "var(--border-hairline)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--surface-2)" },
  ".cm-activeLineGutter": { color: "var(--ink-1)" },
  ".cm-cursor": { borderLeftColor: "var(--ink-1)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--brand-tint) !important" },
  ".cm-selectionMatch, .cm-searchMatch": { backgroundColor: "var(--blocked-tint)" },
  ".cm-matchingBracket": { backgroundColor: "var(--brand-tint)", outline: "1px solid var(--brand)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--failed-stroke) 1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--blocked-stroke) 1px", textUnderlineOffset: "3px" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--surface-overlay)", color: "var(--ink-1)", border: "var(--border-rule)", borderRadius: "var(--radius-2)" },
  ".cm-diagnostic": { borderInlineStart: "3px solid var(--failed-stroke)", fontFamily: "var(--font-ui)" },
  ".cm-diagnostic-warning": { borderInlineStartColor: "var(--blocked-stroke)" },
});

// Text over a selection of several lines: left to itself, the browser would copy colours into style attributes,
// which the policy forbids.
const replaceLines = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    if (event.inputType !== "insertText" || event.isComposing || event.data == null || main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export function createEditor({ parent, text, language, label, nonce, onChange }) {
  const speech = new Compartment();
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        nonce ? EditorView.cspNonce.of(nonce) : [],
        lineNumbers(),
        lintGutter(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentUnit.of("  "),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        speech.of(LANGUAGES[language]()),
        syntaxHighlighting(colours),
        look,
        replaceLines,
        // Escape first, then Tab, leaves the editor: no keyboard trap.
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange?.(update.state.doc.toString())),
      ],
    }),
  });

  return {
    get text() {
      return view.state.doc.toString();
    },
    setText(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    setLanguage(next) {
      view.dispatch({ effects: speech.reconfigure(LANGUAGES[next]()) });
    },
    setProblems(problems) {
      view.dispatch(setDiagnostics(view.state, problems.map((problem) => diagnostic(view.state.doc, problem))));
    },
    goTo(line, column = 1) {
      const at = position(view.state.doc, line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

function position(doc, line, column) {
  const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(row.from + Math.max(column - 1, 0), row.to);
}

// A problem is { line, column, message, severity }; without a column its whole line is marked.
function diagnostic(doc, { line, column, message, severity = "error" }) {
  const row = doc.line(Math.min(Math.max(line ?? 1, 1), doc.lines));
  const from = column ? position(doc, line, column) : row.from + (row.text.match(/^\s*/)?.[0].length ?? 0);
  const word = /^[\w${}.-]+/.exec(row.text.slice(from - row.from));
  const to = column && word ? from + word[0].length : row.to;
  return { from: Math.min(from, row.to), to: Math.max(to, Math.min(from, row.to)), message, severity };
}
