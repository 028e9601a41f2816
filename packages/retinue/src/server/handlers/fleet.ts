/** Fleets: starting one, and reading what its todos came to. */

import { fleetRecord, fleetReport } from "../../host/fleet-report.ts";
import { fleetOver, startFleet } from "../../modes/fleet.ts";
import { type Handlers, hosted } from "../handler.ts";

export const fleetHandlers: Handlers = {
  "session.fleet.start": async ({ wait = false, ...params }, scope) => {
    const target = hosted(params, scope);
    const fleetId = await startFleet(target, params, scope);
    if (!wait) return { started: true, fleetId };
    await fleetOver(target, fleetId, scope);
    return { started: true, fleetId, report: await fleetReport(target, fleetId, scope) };
  },
  "session.fleet.read": async ({ wait = false, ...params }, scope) => {
    const target = hosted(params, scope);
    const { id } = fleetRecord(target, params.fleetId);
    if (wait) await fleetOver(target, id, scope);
    return await fleetReport(target, id, scope);
  },
};
