/** Events of skills. */
import * as z from "zod";
import { byName } from "../method.ts";
import { flag, lazy, type Of, open, strings, text } from "../schema.ts";
import { event } from "./event.ts";

export const SkillSource = lazy(() =>
  z.enum(["project", "inherited", "personal-copilot", "personal-agents", "plugin", "custom", "builtin", "sdk"]),
);

export const SkillInfo = lazy(() =>
  open({
    name: z.string(),
    description: z.string(),
    source: SkillSource(),
    userInvocable: z.boolean(),
    enabled: z.boolean(),
    path: text(),
    commandName: text(),
    argumentHint: text(),
    pluginName: text(),
  }),
);
export type SkillInfo = Of<typeof SkillInfo>;

export const SKILL_EVENTS = byName(
  event("session.skills_loaded", {
    persisted: false,
    summary: "The skills of the session were read.",
    data: () => open({ skills: z.array(SkillInfo()) }),
  }),
  event("skill.invoked", {
    persisted: true,
    summary: "The text of a skill was given to an agent.",
    data: () =>
      open({
        name: z.string(),
        path: z.string(),
        content: z.string(),
        description: text(),
        source: text(),
        trigger: z.enum(["user-invoked", "agent-invoked", "context-load"]).optional(),
        allowedTools: strings().optional(),
        disableModelInvocation: flag(),
        model: text(),
        pluginName: z.string().nullish(),
        pluginVersion: z.string().nullish(),
      }),
  }),
);
