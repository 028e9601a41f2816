/**
 * Splits SQL into statements at the semicolons that are not inside a text, a name, a comment or a trigger.
 */
// A doubled quote inside a text ends one token and begins the next, which makes no difference here.
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|;|\w+|\s+|[^\w\s;'"`[/-]+|./g;

export interface SqlStatement {
  text: string;
  /** Its first word, in capitals. */
  verb: string;
}

export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let current = newStatement(0);
  for (const { 0: token, index } of sql.matchAll(TOKEN)) {
    if (token === ";" && (!current.isTrigger || current.lastWord === "END")) {
      if (current.verb !== "") statements.push({ text: sql.slice(current.from, index).trim(), verb: current.verb });
      current = newStatement(index + 1);
      continue;
    }
    if (isGap(token)) continue;
    const word = token.length > MAX_WORD ? "" : token.toUpperCase();
    if (current.verb === "") current.verb = word || "…";
    current.isTrigger ||= current.verb === "CREATE" && word === "TRIGGER";
    current.lastWord = word;
  }
  if (current.verb !== "") statements.push({ text: sql.slice(current.from).trim(), verb: current.verb });
  return statements;
}

/** No word that means something here is longer. */
const MAX_WORD = 100;

const newStatement = (from: number) => ({ from, verb: "", lastWord: "", isTrigger: false });

const isGap = (token: string) => token.trim() === "" || token.startsWith("--") || token.startsWith("/*");
