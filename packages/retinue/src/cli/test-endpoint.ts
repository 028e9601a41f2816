/** For tests: an HTTP server on loopback that answers with given JSON by path, and keeps what it was asked. */
import { createServer, type IncomingHttpHeaders } from "node:http";

export interface TestEndpoint extends AsyncDisposable {
  readonly address: string;
  readonly requests: { path: string; headers: IncomingHttpHeaders }[];
}

export async function testEndpoint(
  answers: Readonly<Record<string, { status?: number; body: unknown }>>,
): Promise<TestEndpoint> {
  const requests: TestEndpoint["requests"] = [];
  const server = createServer(({ url: path = "", headers }, response) => {
    requests.push({ path, headers });
    const { status = 200, body } = answers[path] ?? { status: 404, body: { error: { message: `nothing at ${path}` } } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("the server has no port");
  return {
    address: `http://127.0.0.1:${at.port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
