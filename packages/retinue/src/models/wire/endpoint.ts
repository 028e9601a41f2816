/** Where a provider's requests go and how they are signed: OpenAI-compatible, Azure and Anthropic addresses. */

import type { ModelRequest, Origin, StreamOptions } from "../provider.ts";
import { type HttpAnswer, type HttpCall, send } from "./http.ts";

export interface Endpoint {
  /** Names the provider in events and marks the reasoning blocks that it wrote. */
  id: string;
  type: "openai" | "azure" | "anthropic";
  baseUrl: string;
  apiKey?: string;
  /** Used instead of `apiKey`. */
  bearerToken?: string;
  /** Asked before every request; used instead of the other two. */
  tokenProvider?: () => Promise<string>;
  azure?: { apiVersion?: string };
  headers?: Readonly<Record<string, string>>;
  origin?: Omit<Origin, "hasKey">;
}

export type EndpointPath = "/chat/completions" | "/responses" | "/v1/messages";

export interface Post extends StreamOptions {
  path: EndpointPath;
  request: ModelRequest;
  body: HttpCall["body"];
}

export async function post(endpoint: Endpoint, { path, request, body, ...options }: Post): Promise<HttpAnswer> {
  const headers = {
    "content-type": "application/json",
    accept: request.stream ? "text/event-stream" : "application/json",
    ...(await headersFor(endpoint)),
    ...lowerCased(request.headers),
  };
  return await send({ url: urlFor(endpoint, path, request.model), headers, body, ...options });
}

export function urlFor(endpoint: Endpoint, path: EndpointPath | "/models", model: string): string {
  let end = endpoint.baseUrl.length;
  while (end > 0 && endpoint.baseUrl[end - 1] === "/") end--;
  const base = endpoint.baseUrl.slice(0, end);
  if (endpoint.type === "anthropic") return `${base.replace(/\/v1$/, "")}/v1${path.replace("/v1", "")}`;
  if (endpoint.type === "openai") return `${base}${path}`;
  return azureUrl({ base, path, model, apiVersion: endpoint.azure?.apiVersion });
}

/** With an API version the deployment is a part of the address; without one the model is named in the body. */
function azureUrl(to: { base: string; path: string; model: string; apiVersion: string | undefined }): string {
  const root = to.base.replace(/\/openai(\/v1)?$/, "");
  if (to.apiVersion === undefined) return `${root}/openai/v1${to.path}`;
  const deployment = to.path === "/chat/completions" ? `/deployments/${encodeURIComponent(to.model)}` : "";
  return `${root}/openai${deployment}${to.path}?api-version=${encodeURIComponent(to.apiVersion)}`;
}

export async function headersFor(endpoint: Endpoint): Promise<Record<string, string>> {
  const token = endpoint.tokenProvider ? await endpoint.tokenProvider() : endpoint.bearerToken;
  const signed = token ? { authorization: `Bearer ${token}` } : keyHeader(endpoint);
  const version = endpoint.type === "anthropic" && { "anthropic-version": "2023-06-01" };
  return { ...version, ...signed, ...lowerCased(endpoint.headers) };
}

function keyHeader({ type, apiKey }: Endpoint): Record<string, string> {
  if (!apiKey) return {};
  if (type === "azure") return { "api-key": apiKey };
  return type === "anthropic" ? { "x-api-key": apiKey } : { authorization: `Bearer ${apiKey}` };
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
