import { approveAll, CopilotClient } from "@github/copilot-sdk";

const client = new CopilotClient();
const session = await client.createSession({ onPermissionRequest: approveAll });
const answer = await session.sendAndWait({ prompt: "What is here?" });
console.log(answer?.data.content);
await client.stop();
