/** Talks to the daemon on its port, where anybody could listen. */
import { Agent } from "node:http";
import { AppError } from "@retinue/protocol/errors";
import { fields, text as textOf } from "../ingest/readers/fields.ts";
import { answerProof, daemonProof, isSame, newWord, PROOF_PATH, requestProof } from "../records/proof.ts";
import { type Answer, exchange, type Question } from "./daemon-exchange.ts";

/** First the daemon proves that it has the token; then the request follows on the same connection, signed. */
export async function askOnPort(
  { port, token, signal }: { port: number; token: string; signal: AbortSignal },
  question: Question,
): Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const place = { host: "127.0.0.1", port, agent, signal };
  try {
    const client = newWord();
    const offer = await exchange(place, { method: "GET", path: `${PROOF_PATH}?nonce=${client}`, json: "" });
    const { nonce, proof } = fields(JSON.parse(offer.text));
    const words = { client, server: textOf(nonce) ?? "" };
    if (!isSame(textOf(proof), daemonProof(token, words, port))) throw stranger();
    const signed = requestProof(token, words, { ...question, port, body: question.json });
    const headers = { authorization: `Proof ${client}.${words.server}.${signed}` };
    const answer = await exchange({ ...place, headers }, { ...question, isFollowing: true });
    const { status, text } = answer;
    if (!isSame(answer.proof, answerProof(token, words, { status, body: text }))) throw stranger();
    return answer;
  } catch (error) {
    throw error instanceof SyntaxError ? stranger() : error;
  } finally {
    agent.destroy();
  }
}

const stranger = () =>
  new AppError("connection_closed", "Another program listens on the daemon's port; nothing was told to it");
