/** Where the owner's token is. */
import { join } from "node:path";

export const tokenFile = (home: string) => join(home, "daemon.token");
