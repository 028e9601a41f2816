/** The program of the page: the SDK in a browser, with streamed answers, asks that wait for a button, and the tree of agents. */
import {
  type PermissionDecision,
  type PermissionRequest,
  RetinueClient,
  RuntimeConnection,
  renderTree,
  type Session,
  type SessionConfig,
} from "@retinue/sdk";
import { openLink } from "./link.ts";

const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind;
const messages = byId("messages");
const asks = byId("asks");
const promptField = byId<HTMLTextAreaElement>("prompt");
const form = byId<HTMLFormElement>("form");
const stopButton = byId<HTMLButtonElement>("stop");

const token = location.hash.slice(1);
const connection = RuntimeConnection.forTransport(() => openLink(location.origin, token));
const client = new RetinueClient({ connection, reconnect: { attempts: 10, delayMs: 200 } });

const config: SessionConfig = {
  streaming: true,
  clientName: "web-chat",
  onPermissionRequest: (request, { requestId = "", agentName = "main" }) => ask(requestId, request, agentName),
};

try {
  await talk(await openSession());
} catch (error) {
  show("error", String(error));
  byId("state").textContent = "not connected";
}

/** A page that is loaded again goes on with its session. */
async function openSession(): Promise<Session> {
  const known = sessionStorage.getItem("session");
  if (known) {
    try {
      const resumed = await client.resumeSession(known, { ...config, continuePendingWork: true });
      for (const event of await resumed.getEvents()) {
        if (event.agentId !== undefined) continue;
        if (event.type === "user.message") show("you", event.data.content);
        if (event.type === "assistant.message" && event.data.content) show("agent", event.data.content);
      }
      return resumed;
    } catch (error) {
      show("error", `The last session could not be opened: ${error}`);
    }
  }
  const session = await client.createSession(config);
  sessionStorage.setItem("session", session.sessionId);
  return session;
}

async function talk(session: Session): Promise<void> {
  const draw = () => {
    byId("tree").textContent = renderTree(session.tree());
  };
  session.on(draw);
  session.on("permission.completed", ({ data }) => document.getElementById(`ask-${data.requestId}`)?.remove());
  setInterval(draw, 1_000); // Times go on.
  draw();
  byId("state").textContent = `session ${session.sessionId}`;
  stopButton.addEventListener("click", () => void session.abort());
  // A page that was loaded again in the middle of an answer does not stream it: it shows each message when it is whole.
  session.on("assistant.message", ({ data, agentId }) => {
    if (stopButton.hidden && agentId === undefined && data.content) show("agent", data.content);
  });
  promptField.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const prompt = promptField.value.trim();
    if (prompt === "") return;
    promptField.value = "";
    void send(session, prompt);
  });
}

async function send(session: Session, prompt: string): Promise<void> {
  show("you", prompt);
  stopButton.hidden = false;
  let open: { id: string; element: HTMLElement } | undefined;
  try {
    for await (const part of session.stream(prompt)) {
      if (part.type === "text") {
        if (open?.id !== part.messageId) open = { id: part.messageId, element: show("agent", "") };
        open.element.append(part.text);
        messages.scrollTop = messages.scrollHeight;
      } else if (part.type === "tool-start") show("step", `→ ${part.toolName}`);
      else if (part.type === "tool-end" && !part.success) show("step", `✗ ${part.toolName}: ${part.error ?? "failed"}`);
      else if (part.type === "agent-start") show("step", `→ ${part.taskName ?? part.displayName} begins`);
      else if (part.type === "agent-end") show("step", `${part.taskName ?? part.displayName} ${part.status}`);
    }
  } catch (error) {
    show("error", String(error));
  } finally {
    stopButton.hidden = true;
  }
}

function show(kind: "you" | "agent" | "step" | "error", text: string): HTMLElement {
  const element = document.createElement("p");
  element.className = `message ${kind}`;
  element.textContent = text;
  messages.append(element);
  messages.scrollTop = messages.scrollHeight;
  return element;
}

/** Waits for a button. An ask that is settled elsewhere, or stopped, goes away by its event. */
function ask(id: string, request: PermissionRequest, agent: string): Promise<PermissionDecision> {
  const box = document.createElement("div");
  box.className = "ask";
  box.id = `ask-${id}`;
  const what = document.createElement("code");
  what.textContent = wordsOf(request);
  box.append(`${agent} asks: may this run?`, what);
  asks.append(box);
  return new Promise((resolve) => {
    const button = (label: string, decision: PermissionDecision) => {
      const element = document.createElement("button");
      element.textContent = label;
      element.addEventListener("click", () => {
        box.remove();
        resolve(decision);
      });
      box.append(element, " ");
    };
    button("Allow once", { kind: "approve-once" });
    button("Deny", { kind: "reject", feedback: "The user denied this." });
  });
}

function wordsOf(request: PermissionRequest): string {
  if (request.kind === "shell") return request.fullCommandText;
  const { kind, ...rest } = request;
  return `${kind} ${JSON.stringify(rest, null, 2)}`;
}
