/** The agents that come with the runtime: one Markdown file each in builtin/, read once. */

import { prepared } from "../prepared.ts";
import codeReview from "./builtin/code-review.agent.md";
import explore from "./builtin/explore.agent.md";
import generalPurpose from "./builtin/general-purpose.agent.md";
import remAgent from "./builtin/rem-agent.agent.md";
import research from "./builtin/research.agent.md";
import rubberDuck from "./builtin/rubber-duck.agent.md";
import securityReview from "./builtin/security-review.agent.md";
import task from "./builtin/task.agent.md";
import { type AgentDefinition, agentFromFile } from "./definition.ts";

/** In the order in which they are offered to the model. */
const FILES: Readonly<Record<string, string>> = {
  explore,
  task,
  "general-purpose": generalPurpose,
  "code-review": codeReview,
  "security-review": securityReview,
  research,
  "rubber-duck": rubberDuck,
  "rem-agent": remAgent,
};

export function builtinAgents(): readonly AgentDefinition[] {
  return prepared("agents", () =>
    Object.entries(FILES).map(([name, text]) =>
      agentFromFile(text, { source: "builtin", path: `builtin/${name}.agent.md` }),
    ),
  );
}
