/** An event as a client sees it, with the fields that the laws are about. */
export interface LawEvent {
  type: string;
  id: string;
  agentId?: string;
  ephemeral?: boolean;
  data: LawData;
}

export interface LawData {
  requestId?: string;
  isRepeat?: boolean;
  toolCallId?: string;
  toolName?: string;
  arguments?: Record<string, unknown>;
  success?: boolean;
  error?: string | { message: string; code?: string };
  result?: { kind?: string; content?: string };
  decisionSource?: string;
  infoType?: string;
  kind?: { type: string; agentId?: string };
  content?: string;
  modelText?: string;
  permissionRequest?: { kind: string; toolCallId?: string; fullCommandText?: string };
  agentPath?: string[];
  agentPathNames?: string[];
  path?: string[];
  pathNames?: string[];
  parentId?: string;
  agentType?: string;
  executionMode?: string;
  cancelled?: boolean;
  reason?: string;
  hookType?: string;
  hookInvocationId?: string;
  input?: { toolName?: string; agentId?: string; agentPath?: string[]; agentPathNames?: string[] };
  aborted?: boolean;
  checkId?: string;
  /** Of `subagent_session_boundary`. */
  phase?: string;
  run?: number;
  source?: string;
  delivery?: string;
  isSentBack?: boolean;
  toolRequests?: { toolCallId: string; name: string }[];
}

export interface LawTask {
  agentType?: string;
  id: string;
  status: string;
  result?: string;
  displayName?: string;
  executionMode?: string;
  parentId?: string;
  path?: string[];
  pathNames?: string[];
}
