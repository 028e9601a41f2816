/** The address on this machine to which the browser is sent back after a sign-in. It answers one browser, once, and is gone. */
import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

const PATH = "/callback";

export interface RedirectListener {
  readonly url: string;
  /** Begins to answer. The page says whether `finish` succeeded. Addresses without this state are refused, and change nothing. */
  serve(state: string, page: { finish(params: URLSearchParams): Promise<void>; success: string }): void;
  close(): void;
}

/** The port that is wanted, or any other if somebody else has it and it need not be this one. */
export async function listenForRedirect({
  port = 0,
  isFixed,
}: {
  port?: number;
  isFixed: boolean;
}): Promise<RedirectListener> {
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void refuse(response);
  const server = createServer((request, response) => answer(request, response));
  try {
    await listening(server, port);
  } catch (error) {
    if (isFixed || port === 0) throw error;
    await listening(server, 0);
  }
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : port}${PATH}`;
  let isUsed = false;
  /** Resolves when the last page is out. */
  let shown: Promise<unknown> = Promise.resolve();
  return {
    url,
    serve: (state, { finish, success }) => {
      answer = (request, response) => {
        const asked = request.url ?? "";
        // What a stranger asks for need not be an address at all: `//` is none.
        if (!URL.canParse(asked, url)) return refuse(response);
        const { pathname, searchParams } = new URL(asked, url);
        const isOurs = request.method === "GET" && pathname === PATH && isSame(searchParams.get("state"), state);
        if (!isOurs || isUsed) return refuse(response);
        isUsed = true;
        shown = once(response, "close");
        finish(searchParams).then(
          () => show(response, 200, success),
          () => show(response, 400, "The sign-in failed. The program that asked for it says why."),
        );
      };
    },
    close: () => {
      server.close();
      // Whoever else has connected gets nothing, and does not keep the process.
      void shown.then(() => server.closeAllConnections());
    },
  };
}

async function listening(server: Server, port: number): Promise<void> {
  server.listen({ port, host: "127.0.0.1" });
  await once(server, "listening");
}

const refuse = (response: ServerResponse): void => show(response, 404, "There is nothing here.");

function show(response: ServerResponse, status: number, text: string): void {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  };
  response.writeHead(status, headers);
  response.end(`<!doctype html><meta charset="utf-8"><title>Retinue</title><p>${escaped(text)}</p>\n`);
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);

const isSame = (given: string | null, wanted: string): boolean => timingSafeEqual(digest(given ?? ""), digest(wanted));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
