// A small stream tokenizer for job files in HCL: enough to colour blocks, attributes, strings with
// interpolation, heredocs, numbers, booleans and the three kinds of comment. It never judges the text.

const WORD = /^[A-Za-z_][\w-]*/;
const LITERALS = new Set(["true", "false", "null"]);
const KEYWORDS = new Set(["for", "in", "if", "else", "endif", "endfor"]);

export const hcl = {
  name: "hcl",
  languageData: { commentTokens: { line: "#", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  startState: () => ({ stack: [], heredoc: "" }),
  copyState: (state) => ({ stack: [...state.stack], heredoc: state.heredoc }),

  token(stream, state) {
    if (state.heredoc) return inHeredoc(stream, state);
    const inside = state.stack[state.stack.length - 1];
    if (inside === '"') return inString(stream, state);
    if (inside === "/*") return inComment(stream, state);
    if (stream.eatSpace()) return null;
    return outside(stream, state);
  },

  indent(state, textAfter, context) {
    const closes = /^\s*[}\])]/.test(textAfter) ? 1 : 0;
    const depth = state.stack.filter((mark) => "{[(".includes(mark)).length;
    return Math.max(depth - closes, 0) * context.unit;
  },
};

function outside(stream, state) {
  if (stream.match("#") || stream.match("//")) {
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match("/*")) {
    state.stack.push("/*");
    return inComment(stream, state);
  }
  const heredoc = stream.match(/^<<[-~]?([A-Za-z_]\w*)/);
  if (heredoc) {
    state.heredoc = heredoc[1];
    return "string";
  }
  if (stream.match('"')) {
    state.stack.push('"');
    return inString(stream, state);
  }
  if (stream.match(/^-?\d+(\.\d+)?([eE][-+]?\d+)?/)) return "number";
  const word = stream.match(WORD);
  if (word) return wordStyle(word[0], stream);
  return mark(stream, state);
}

function wordStyle(word, stream) {
  if (LITERALS.has(word)) return "bool";
  if (KEYWORDS.has(word)) return "keyword";
  // A name before `=` is an attribute, before `{` or a label a block, before `(` a function.
  if (stream.match(/^\s*=(?!=)/, false)) return "propertyName";
  if (stream.match(/^\s*(\{|"[^"]*"\s*(\{|"))/, false)) return "keyword";
  if (stream.match(/^\s*\(/, false)) return "variableName.function";
  return "variableName";
}

function mark(stream, state) {
  const char = stream.next();
  if ("{[(".includes(char)) {
    state.stack.push(char);
    return "bracket";
  }
  if ("}])".includes(char)) {
    state.stack.pop();
    // The end of an interpolation leads back into its string.
    return state.stack[state.stack.length - 1] === '"' && char === "}" ? "string.special" : "bracket";
  }
  return "operator";
}

function inString(stream, state) {
  while (!stream.eol()) {
    if (stream.match(/^[$%]\{/, false) && !escaped(stream)) return interpolation(stream, state);
    const char = stream.next();
    if (char === "\\") stream.next();
    else if (char === '"') {
      state.stack.pop();
      return "string";
    }
  }
  // Strings end with their line; an unclosed one must not colour the rest of the file.
  state.stack.pop();
  return "string";
}

function escaped(stream) {
  return /[$%]$/.test(stream.string.slice(0, stream.pos)) && /^[$%]/.test(stream.string.slice(stream.pos));
}

function interpolation(stream, state) {
  if (stream.pos > stream.start) return "string";
  stream.next();
  stream.next();
  state.stack.push("{");
  return "string.special";
}

function inComment(stream, state) {
  if (stream.match(/^.*?\*\//)) state.stack.pop();
  else stream.skipToEnd();
  return "comment";
}

function inHeredoc(stream, state) {
  if (stream.sol() && stream.match(new RegExp(`^\\s*${state.heredoc}\\s*$`))) state.heredoc = "";
  else stream.skipToEnd();
  return "string";
}
