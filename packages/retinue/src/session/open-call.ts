/** A call of the model that has not ended; how far it got decides what a resumed session does with it. */
import type { PermissionRequest } from "@retinue/protocol";

export interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly turnId: string;
  readonly interactionId: string;
  isStarted: boolean;
  permission?: { requestId: string; request: PermissionRequest; isDecided: boolean; isApproved: boolean };
  external?: { requestId: string; isCompleted: boolean };
}
