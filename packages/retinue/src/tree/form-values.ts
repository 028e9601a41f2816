/** What a person may put into a form of an MCP server. */
type FormValue = string | number | boolean | string[];

/** The values that a form can have; anything else is not an answer to it. */
export function formValues(content: Record<string, unknown>): Record<string, FormValue> {
  const values: Record<string, FormValue> = {};
  for (const [name, value] of Object.entries(content)) if (isFormValue(value)) values[name] = value;
  return values;
}

function isFormValue(value: unknown): value is FormValue {
  if (Array.isArray(value)) return value.every((each) => typeof each === "string");
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
