/** What a person may be asked besides permission: a question, a form, a plan to approve, a change of model. */

interface Asked {
  readonly sessionId: string;
  readonly childSessionId?: string | undefined;
  readonly agentName?: string | undefined;
}

export interface UserInputRequest {
  readonly question: string;
  readonly choices?: string[];
  readonly allowFreeform?: boolean;
}
export interface UserInputResponse {
  answer: string;
  wasFreeform: boolean;
}
export type UserInputHandler = (
  request: UserInputRequest,
  invocation: Asked,
) => UserInputResponse | Promise<UserInputResponse>;

export interface ElicitationSchema {
  type: "object";
  properties: Record<string, Record<string, unknown>>;
  required?: string[];
}
export interface ElicitationContext extends Asked {
  readonly message: string;
  readonly requestedSchema?: ElicitationSchema;
  readonly mode?: "form" | "url";
  readonly elicitationSource?: string;
  readonly url?: string;
}
export interface ElicitationResult {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}
export type ElicitationHandler = (context: ElicitationContext) => ElicitationResult | Promise<ElicitationResult>;

export interface ExitPlanModeRequest {
  readonly summary: string;
  readonly planContent?: string;
  readonly actions: string[];
  readonly recommendedAction: string;
}
export interface ExitPlanModeResult {
  approved: boolean;
  selectedAction?: string;
  feedback?: string;
}
export type ExitPlanModeHandler = (
  request: ExitPlanModeRequest,
  invocation: Asked,
) => ExitPlanModeResult | Promise<ExitPlanModeResult>;

export interface AutoModeSwitchRequest {
  readonly errorCode?: string;
  readonly retryAfterSeconds?: number;
}
export type AutoModeSwitchResponse = "yes" | "yes_always" | "no";
export type AutoModeSwitchHandler = (
  request: AutoModeSwitchRequest,
  invocation: Asked,
) => AutoModeSwitchResponse | Promise<AutoModeSwitchResponse>;

export interface CommandContext {
  readonly sessionId: string;
  readonly command: string;
  readonly commandName: string;
  readonly args: string;
}
export interface CommandDefinition {
  name: string;
  description?: string;
  handler: (context: CommandContext) => void | Promise<void>;
}

export function isUserInputResponse(value: unknown): value is UserInputResponse {
  return isRecord(value) && typeof value.answer === "string" && typeof value.wasFreeform === "boolean";
}

export function isElicitationResult(value: unknown): value is ElicitationResult {
  return isRecord(value) && ["accept", "decline", "cancel"].includes(String(value.action));
}

export function isExitPlanModeResult(value: unknown): value is ExitPlanModeResult {
  return isRecord(value) && typeof value.approved === "boolean";
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
