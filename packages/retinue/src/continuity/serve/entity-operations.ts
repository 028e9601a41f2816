/** Operations on entities, their attributes and constraints. They belong to an agent, so a token that is bound to a project has none. */
import { AppError } from "@retinue/protocol";
import * as z from "zod";
import { redact } from "../../secrets/redact.ts";
import { ATTRIBUTE_KINDS } from "../../store/transcripts.ts";
import { actingAgent, type Caller, hasEntities } from "../records/scope.ts";
import { operation, word } from "./operation.ts";

const agentId = word().optional();

function agentOf(caller: Caller, given: string | undefined): string {
  if (!hasEntities(caller)) {
    throw new AppError("authentication_failed", "A token of a project has no entities");
  }
  return actingAgent(caller, given);
}

export const entityOperations = [
  operation({
    name: "entity_add",
    method: "POST",
    path: "/api/entities",
    summary: "Adds an entity: something that work is about.",
    input: z.object({ name: word(), agentId }),
    async run({ transcripts, world }, caller, { name, agentId: given }) {
      await transcripts.entities.add({ agentId: agentOf(caller, given), name, at: world.now() });
      return { name };
    },
  }),
  operation({
    name: "entity_list",
    method: "GET",
    path: "/api/entities",
    summary: "The entities of an agent, with attributes and constraints.",
    input: z.object({ agentId }),
    async run({ transcripts }, caller, { agentId: given }) {
      const entities = await transcripts.entities.list(agentOf(caller, given));
      return {
        entities: entities.map((each) => ({
          ...each,
          name: redact(each.name),
          attributes: each.attributes.map((one) => ({ ...one, content: redact(one.content) })),
        })),
      };
    },
  }),
  operation({
    name: "entity_remove",
    method: "DELETE",
    path: "/api/entities/{name}",
    summary: "Removes an entity with all that is known about it.",
    input: z.object({ name: word(), agentId }),
    run: async ({ transcripts }, caller, { name, agentId: given }) => ({
      removed: await transcripts.entities.remove(agentOf(caller, given), name),
    }),
  }),
  operation({
    name: "attribute_add",
    method: "POST",
    path: "/api/entities/{name}/attributes",
    summary: "Adds an attribute, or a constraint that every child session inherits.",
    input: z.object({
      name: word(),
      kind: z.enum(ATTRIBUTE_KINDS).default("attribute"),
      content: z.string().min(1).max(4_000),
      agentId,
    }),
    async run({ transcripts, world }, caller, { name, kind, content, agentId: given }) {
      const attribute = { agentId: agentOf(caller, given), entity: name, kind, content, at: world.now() };
      return { id: await transcripts.entities.addAttribute(attribute) };
    },
  }),
  operation({
    name: "attribute_remove",
    method: "DELETE",
    path: "/api/attributes/{id}",
    summary: "Removes an attribute or a constraint.",
    input: z.object({ id: z.coerce.number().int(), agentId }),
    run: async ({ transcripts }, caller, { id, agentId: given }) => ({
      removed: await transcripts.entities.removeAttribute(agentOf(caller, given), id),
    }),
  }),
];
