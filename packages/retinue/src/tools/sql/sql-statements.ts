/**
 * Splits SQL into statements at the semicolons that are not inside a text, a name, a comment or a trigger.
 */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|;|\w+|\s+|./g;

export interface SqlStatement {
  text: string;
  /** Its first word, in capitals. */
  verb: string;
}

export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let current = newStatement();
  for (const [token] of sql.matchAll(TOKEN)) {
    const word = token.toUpperCase();
    if (token === ";" && (!current.isTrigger || current.lastWord === "END")) {
      if (current.verb !== "") statements.push({ text: current.text.trim(), verb: current.verb });
      current = newStatement();
      continue;
    }
    current.text += token;
    if (/^\s|^--|^\/\*/.test(token)) continue;
    if (current.verb === "") current.verb = word;
    current.isTrigger ||= current.verb === "CREATE" && word === "TRIGGER";
    current.lastWord = word;
  }
  if (current.verb !== "") statements.push({ text: current.text.trim(), verb: current.verb });
  return statements;
}

const newStatement = () => ({ text: "", verb: "", lastWord: "", isTrigger: false });
