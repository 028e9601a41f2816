/** One request to the daemon and its answer, wherever it listens. */
import { request as httpRequest, type RequestOptions } from "node:http";
import { AppError } from "@retinue/protocol/errors";

export interface Question {
  method: string;
  path: string;
  /** The body; empty: none. */
  json: string;
}

export interface Answer {
  status: number;
  text: string;
  proof?: string;
}

const MAX_ANSWER = 64 * 1024 * 1024;

export function exchange(
  { headers, ...place }: RequestOptions,
  { method, path, json, isFollowing = false }: Question & { isFollowing?: boolean },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(new AppError("connection_closed", `The daemon does not answer: ${error.message}`, { cause: error }));
    const type = json === "" ? {} : { "content-type": "application/json" };
    const asked = httpRequest({ ...place, method, path, headers: { ...headers, ...type } }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER) response.destroy(new Error("the answer is too long"));
      });
      response.on("error", fail);
      const proof = response.headers["x-retinue-proof"];
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 500, text, proof: typeof proof === "string" ? proof : undefined }),
      );
    });
    asked.on("error", fail);
    // Nothing is written before the connection is known: a new one could lead to somebody else.
    asked.on("socket", () => {
      if (isFollowing && !asked.reusedSocket) asked.destroy(new Error("the connection was closed"));
      else asked.end(json === "" ? undefined : json);
    });
  });
}
