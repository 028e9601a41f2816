/** The public names. Adding or removing one means changing a line here. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

const names = async (entry: Promise<object>): Promise<string[]> => Object.keys(await entry).sort();

describe("exports", () => {
  test("@retinue/sdk exports these values and no others", async () => {
    expect(await names(import("@retinue/sdk"))).toEqual([
      "AnswerError",
      "AppError",
      "HostTask",
      "MAIN",
      "RemoteError",
      "RetinueClient",
      "RuntimeConnection",
      "Session",
      "SessionTasks",
      "approveAll",
      "childrenOf",
      "defineTool",
      "emptyTree",
      "foldTree",
      "interruptedTreeOf",
      "mainNode",
      "openAsks",
      "renderTree",
      "totalUsage",
      "treeOf",
      "waitReason",
      "walk",
    ]);
  });

  test("@retinue/sdk/testing exports these values and no others", async () => {
    expect(await names(import("@retinue/sdk/testing"))).toEqual([
      "FakeRuntime",
      "FakeSession",
      "call",
      "say",
      "startScriptedModel",
    ]);
  });

  test("@retinue/protocol exports these values and no others", async () => {
    expect(await names(import("@retinue/protocol"))).toEqual([
      "AppError",
      "Approval",
      "Attachments",
      "Billing",
      "Budget",
      "CLIENT_CALLS",
      "CreateSession",
      "CustomAgentConfig",
      "ERRORS",
      "EVENTS",
      "ElicitationResult",
      "EndReason",
      "FleetProgress",
      "FrameDecoder",
      "GATE_WORDS",
      "Gate",
      "Gates",
      "HOOKS",
      "HostCommand",
      "HostToolSpec",
      "Isolation",
      "MAX_FRAME_BYTES",
      "METHODS",
      "MaxGateFailures",
      "McpServerConfig",
      "ModelConfig",
      "ModelSelectionSource",
      "NOTIFICATIONS",
      "NamedProviderConfig",
      "NotificationKind",
      "Peer",
      "PermissionAnswer",
      "PermissionDecision",
      "PermissionMode",
      "PermissionRequest",
      "PermissionResult",
      "PermissionRule",
      "PermissionSettings",
      "PlanDecision",
      "PromptRequest",
      "PromptTerms",
      "ProviderConfig",
      "RemoteError",
      "ResultType",
      "ResumeSession",
      "SERVER_METHODS",
      "SamplingResult",
      "SystemMessageConfig",
      "TaskModelSource",
      "ToolResult",
      "UserInputAnswer",
      "WorktreeResult",
      "byteLength",
      "defined",
      "encodeFrame",
      "isEventType",
      "isKnownEvent",
      "isPersisted",
      "isServerMethod",
      "later",
      "lazy",
      "linkedTransports",
      "longTimer",
      "messageOf",
      "parseEvent",
      "parseHookOutput",
      "parseParams",
      "streamTransport",
      "timeoutSignal",
      "visible",
      "visibleText",
      "wrongPlace",
    ]);
  });

  test("retinue exports these values and no others", async () => {
    expect(await names(import("retinue"))).toEqual([
      "Runtime",
      "call",
      "oneProvider",
      "runtimeConfig",
      "say",
      "scripted",
      "serveConnection",
      "think",
      "when",
    ]);
  });

  test("retinue/testing exports these values and no others", async () => {
    expect(await names(import("retinue/testing"))).toEqual([
      "call",
      "say",
      "scripted",
      "startInMemory",
      "think",
      "when",
    ]);
  });

  test("every entry of every exports map can be imported, and names what it exports", async () => {
    for (const { specifier, file } of entries()) {
      const resolved = createRequire(import.meta.url).resolve(specifier);
      expect(path.relative(root, resolved), specifier).toBe(path.relative(root, file));
      expect(Object.keys(await import(specifier)), specifier).not.toEqual([]);
      expect(readFileSync(file, "utf8"), specifier).not.toMatch(/^export (\*|default)/m);
    }
  });
});

function entries(): { specifier: string; file: string }[] {
  return readdirSync(path.join(root, "packages")).flatMap((folder) => {
    const manifest = JSON.parse(readFileSync(path.join(root, "packages", folder, "package.json"), "utf8"));
    return Object.entries<{ default: string }>(manifest.exports).map(([entry, { default: file }]) => ({
      specifier: path.posix.join(manifest.name, entry),
      file: path.join(root, "packages", folder, file),
    }));
  });
}
