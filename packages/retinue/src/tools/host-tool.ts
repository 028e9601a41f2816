/**
 * A tool of the host program, which also checks its arguments: `call` sends them there.
 */
import { AppError, type PermissionRequest } from "@retinue/protocol";
import type { CallContext, Outcome, Tool } from "./tool.ts";

/** As a host declares it. */
export interface HostToolSpec {
  name: string;
  description?: string;
  parameters?: Readonly<Record<string, unknown>>;
  /** Takes the place of the built-in tool of this name. */
  overridesBuiltInTool?: boolean;
  skipPermission?: boolean;
  isTerminal?: boolean;
}

export interface HostTool extends Tool {
  readonly source: "host";
  readonly overridesBuiltInTool: boolean;
}

const NAME = /^[A-Za-z0-9_-]+$/;
const NO_PARAMETERS = { type: "object", properties: {} };

export function hostTool(
  spec: HostToolSpec,
  call: (args: unknown, context: CallContext) => Promise<Outcome>,
): HostTool {
  if (!NAME.test(spec.name)) {
    throw new AppError(
      "invalid_params",
      `Invalid tool name "${spec.name}": only letters, digits, "_" and "-" are allowed`,
    );
  }
  const description = spec.description ?? "";
  return {
    name: spec.name,
    description,
    parameters: spec.parameters ?? NO_PARAMETERS,
    source: "host",
    readOnly: false,
    isTerminal: spec.isTerminal ?? false,
    overridesBuiltInTool: spec.overridesBuiltInTool ?? false,
    prepare(args, context) {
      const { callId: toolCallId } = context;
      const asked: PermissionRequest = {
        kind: "custom-tool",
        toolCallId,
        toolName: spec.name,
        toolDescription: description,
        args,
      };
      const run = () => call(args, context);
      return spec.skipPermission ? { unasked: asked, run } : { permission: asked, run };
    },
  };
}
