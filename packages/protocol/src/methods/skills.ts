/** Calls about skills. */
import * as z from "zod";
import { SkillInfo } from "../events/skills.ts";
import { byName, justSession, method, nothing, ofSession } from "../method.ts";
import { flag, lazy, strings, text } from "../schema.ts";

const aSkill = lazy(() => ofSession({ name: z.string() }));

export const SKILL_METHODS = byName(
  method("skills.discover", {
    summary: "The skills of the user and of folders, without a session.",
    params: () =>
      z.object({
        projectPaths: strings().optional(),
        skillDirectories: strings().optional(),
        excludeHostSkills: flag(),
      }),
    result: () =>
      z.object({ skills: z.array(SkillInfo().extend({ projectPath: text() })), errors: strings().optional() }),
  }),
  method("session.skills.list", {
    summary: "Skills of the session.",
    params: justSession,
    result: () => z.object({ skills: z.array(SkillInfo()) }),
  }),
  method("session.skills.getInvoked", {
    summary: "Skills whose text the model has got.",
    params: justSession,
    result: () =>
      z.object({
        skills: z.array(
          z.object({
            name: z.string(),
            path: z.string(),
            content: z.string(),
            allowedTools: strings().optional(),
            disableModelInvocation: flag(),
            invokedAtTurn: z.number(),
          }),
        ),
      }),
  }),
  method("session.skills.enable", {
    summary: "Offers a skill.",
    params: aSkill,
    result: nothing,
  }),
  method("session.skills.disable", {
    summary: "Stops offering a skill.",
    params: aSkill,
    result: nothing,
  }),
  method("session.skills.reload", {
    summary: "Reads skill folders again.",
    params: justSession,
    result: () => z.object({ warnings: strings(), errors: strings() }),
  }),
  method("session.skills.ensureLoaded", {
    summary: "Reads skill folders unless that was done.",
    params: justSession,
    result: nothing,
  }),
);
