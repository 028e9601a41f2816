/** What an MCP tool answered, as an outcome: text for the model, contents for the log, images and files as binary results. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { type BinaryResult, failure, type Outcome, success } from "../tools/tool.ts";

export function outcomeOf(server: string, result: CallToolResult): Outcome {
  const { content, structuredContent } = result;
  const text = textOf(content, structuredContent);
  const binary = content.flatMap(binaryOf);
  const more: Partial<Outcome> = {
    contents: content,
    structuredContent,
    binary: binary.length > 0 ? binary : undefined,
    telemetry: { metrics: metricsOf(content, structuredContent) },
  };
  return result.isError === true
    ? failure(`MCP server '${server}': ${text || "the tool failed"}`, more)
    : success(text, more);
}

/** Structured content is added to the text, unless the text is the same. */
function textOf(content: readonly ContentBlock[], structured: unknown): string {
  const text = content
    .map(lineOf)
    .filter((line) => line !== "")
    .join("\n");
  if (structured === undefined) return text;
  const json = JSON.stringify(structured);
  return sameJson(text, json) ? text : [text, json].filter((part) => part !== "").join("\n\n");
}

function lineOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type}: ${block.mimeType}]`;
    case "resource_link":
      return `[${block.title ?? block.name}](${block.uri})`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[resource: ${block.resource.uri}]`;
    default:
      block satisfies never;
      return "";
  }
}

function binaryOf(block: ContentBlock): BinaryResult[] {
  if (block.type === "image") return [{ type: "image", data: block.data, mimeType: block.mimeType }];
  if (block.type === "audio") return [{ type: "resource", data: block.data, mimeType: block.mimeType }];
  if (block.type !== "resource" || !("blob" in block.resource)) return [];
  const { blob, mimeType = "application/octet-stream", uri } = block.resource;
  return [{ type: "resource", data: blob, mimeType, description: uri }];
}

function metricsOf(content: readonly ContentBlock[], structured: unknown): Record<string, number | undefined> {
  const bytes = content.reduce((sum, block) => sum + (block.type === "text" ? Buffer.byteLength(block.text) : 0), 0);
  return {
    mcp_result_content_bytes: bytes,
    mcp_structured_content_bytes: structured === undefined ? undefined : Buffer.byteLength(JSON.stringify(structured)),
  };
}

function sameJson(text: string, json: string): boolean {
  if (!text.startsWith("{") && !text.startsWith("[")) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
