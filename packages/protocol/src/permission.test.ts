import { expect, test } from "vitest";
import { Approval, PermissionDecision, PermissionRequest } from "./permission.ts";

test("an approval for a whole MCP server has a null tool name", () => {
  expect(Approval().parse({ kind: "mcp", serverName: "s", toolName: null })).toEqual({
    kind: "mcp",
    serverName: "s",
    toolName: null,
  });
});

test("an approval for a folder needs to say for what and where", () => {
  expect(PermissionDecision().safeParse({ kind: "approve-for-location" }).success).toBe(false);
});

test("fields of a request that we do not know survive", () => {
  const request = { kind: "read", path: "/a", intention: "look", managedApprovalRequired: true };
  expect(PermissionRequest().parse(request)).toEqual(request);
});
