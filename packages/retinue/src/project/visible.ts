/** Characters that control the screen, turn the direction of writing, or look like nothing. The last ones are letters to Unicode. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** Text of a project as a person may safely be shown it. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** As it can be pasted into a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${visible(text).replaceAll("'", "'\\''")}'`;
}

/** For a list of names, where nothing is decided by what is cut. */
export function brief(text: string, most = 80): string {
  const shown = visible(text);
  return shown.length <= most ? shown : `${shown.slice(0, most - 1)}…`;
}
