/** Words for the model and for people live in Markdown beside the code; the bundler and the test runner load them as text. */
declare module "*.md" {
  const text: string;
  export default text;
}
