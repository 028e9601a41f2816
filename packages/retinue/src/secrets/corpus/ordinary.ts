/** Lines of code, configuration, logs and prose that hold no secret, though many speak of tokens, keys and passwords. */
export const ORDINARY: readonly string[] = String.raw`
token: string | undefined
export function redact(text: string): string {
const token = next();
const token = await getToken();
password: z.string().min(8),
password?: string;
apiKey: process.env.OPENAI_API_KEY,
api_key=os.environ["OPENAI_API_KEY"],
secret: Buffer;
if (token === undefined) return;
if (!password) throw new Error("password is required");
tokens: number;
max_tokens: 4096,
"max_tokens": 1024,
maxTokens = 128000
promptTokens + completionTokens
const { accessToken, refreshToken } = await response.json();
this.#token = token;
self.token = token
return { token, expiresAt };
tokenizer = AutoTokenizer.from_pretrained("gpt2")
for (const token of tokens) count += token.length;
password = getpass.getpass("Password: ")
<input type="password" name="password" placeholder="Password" />
label: "Password",
"password": "Password",
"forgotPassword": "Forgot your password?",
key: "value",
for key, value in items.items():
const key = Object.keys(map)[0];
key={item.id}
<li key={index}>{item}</li>
map.set(key, value);
sort(key=lambda item: item[1])
primary key (id),
foreign key (user_id) references users (id)
CREATE INDEX sessions_token_idx ON sessions (token);
ALTER TABLE users ADD COLUMN password_hash text NOT NULL;
press any key: then wait
The key is to keep functions small.
the tokenizer splits words at spaces
a password is required
The password is required.
the password is wrong
The password is stored as a hash.
the token is expired
The token is valid for one hour.
The secret is out.
Their secret is simple: they rehearse.
The password was changed yesterday.
The password is never logged.
your password will be sent by mail
enter the password for the server
Use a token with read access.
the key is pressed twice
My pin is blue and white.
Set the API key in the settings.
Each session has a token that expires after 30 minutes.
Tokens are counted before the request is sent.
Please rotate the credentials every ninety days.
The secret ingredient is patience.
Passwords must have at least 12 characters.
Authorization is checked in the middleware.
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
-H "Authorization: Bearer $GITHUB_TOKEN"
headers: { Authorization: "Bearer " + token },
headers.set("Authorization", authorization);
const authorization = request.headers.authorization;
authorization: string;
cookie: string | undefined;
const cookie = request.headers.cookie ?? "";
Cookies are deleted when the browser closes.
basic understanding of the protocol
bearer certificates were replaced long ago
a Basic authentication dialog appears
curl https://api.example.com/v1/users
curl -X POST -d @body.json http://localhost:3000
docker run -u 1000:1000 -p 8080:80 nginx
docker run -p 5432:5432 postgres:16
mkdir -p src/components/buttons
ssh -p 2222 ada@example.com
tar -xzf archive.tar.gz -C /opt
npm install --save-dev typescript
git commit -m "Rename the token variable"
git push --force-with-lease origin main
retinue serve --auth-token-env COPILOT_TOKEN
deploy --token <token>
use --password to set the password
the --token option takes a value
login --password-stdin
https://example.com/path?x=1
https://example.com:8080/users/@me
see https://github.com/acme/shop/issues/123#issuecomment-1234567890
http://localhost:3000/api/tokens
mailto:ada@example.com
git@github.com:acme/shop.git
ssh://git@github.com/acme/shop.git
postgres://localhost/shop
postgres://user@localhost:5432/shop
postgres://user:<password>@host/db
DATABASE_URL=postgres://localhost:5432/shop
redis://cache:6379/0
TOKEN=$(cat token.txt)
PASSWORD=$DB_PASSWORD
PASSWORD=${"$"}{DB_PASSWORD}
export PATH="$HOME/.local/bin:$PATH"
password: ${"$"}{{ secrets.DB_PASSWORD }}
token: ${"$"}{{ secrets.GITHUB_TOKEN }}
password: <your password>
api_key: YOUR_API_KEY
"api_key": "your-api-key-here",
OPENAI_API_KEY=
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=<key>
secretName: shop-tls
secretKeyRef:
imagePullSecrets:
serviceAccountName: builder
- name: shop
- name: LOG_LEVEL
  value: debug
image: registry.example.com/shop:1.4.2
kind: Secret
type: Opaque
tokenUrl: https://auth.example.com/token
token_type: bearer
"token_type": "Bearer",
"expires_in": 3600,
grant_types: ["authorization_code", "refresh_token"]
access_token_lifetime: 3600
passwordPolicy: strong
password_min_length: 12
PasswordAuthentication no
session.cookie.secure = true
auth: true
auth: oauth2
auth = None
def login(username: str, password: str) -> Token:
def authenticate(self, token=None, secret=None):
client = Client(api_key=api_key, secret=secret)
client = Client(token=token)
user.set_password(password)
assert response.json()["token"] == token
token = request.headers.get("X-Token")
token := r.Header.Get("Authorization")
func NewClient(token string) *Client {
type Config struct { Token string; Secret []byte }
var password = flag.String("password", "", "the password")
let token = std::env::var("TOKEN")?;
pub struct Token { kind: TokenKind, span: Span }
match token.kind { TokenKind::Ident => {} }
private final String password;
String token = jwtService.createToken(user);
@Value("${"$"}{app.secret}") String secret;
public string Password { get; set; }
$password = $_POST['password'];
$token = bin2hex(random_bytes(32));
secret_key = SecureRandom.hex(32)
password_digest
has_secure_password
expect(token).toBe("abc");
expect(redact(text)).not.toContain(secret);
import { Token } from "./token.ts";
import secrets
from django.contrib.auth.hashers import make_password
const SECRET = Symbol("secret");
const TOKEN_LIMIT = 8192;
const keys = [..."abc"];
const isTokenValid = (token: Token) => token.expiresAt > now;
type TokenPair = { access: string; refresh: string };
interface Credentials { username: string; password: string }
export type Secret = z.infer<typeof Secret>;
throw new AppError("authentication_failed", "A token of a project has no entities");
console.log("token count:", tokens.length);
logger.info("password changed for user %s", user.id)
raise ValueError("token must not be empty")
// The token is asked for before every request.
# password: see the vault
/* key: what the map is keyed by */
-- password is hashed with argon2
TODO: replace the token bucket by a sliding window
token bucket: 100 requests per minute
tokens used: 12345 of 200000
Token usage: input 1234, output 567
PASS: 12 tests
PASS src/token.test.ts (5.2 s)
FAIL src/password.test.ts
pass: 120, fail: 0
key: 3
id: 42
commit 0d3be97f4c2b1a5e6d7c8b9a0f1e2d3c4b5a6978
Merge: c4d0aed 0c66a96
index 83db48f..bf269f4 100644
git checkout 5485610
HEAD is now at 9bbf5d1 Merge the last of the pages
refs/heads/feature/login-page
550e8400-e29b-41d4-a716-446655440000
sessionId: "00000000-0000-4000-8000-000000000001",
"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
trace id 4bf92f3577b34da6a3ce929d0e0e4736
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"integrity": "sha512-xceH2snhtb5M9liqDsmEw56le376mTZkEX/jEb/RxNFyegNul7eNslCXP9FDj/Lcu0X8KEyMceP2ntpaHrDEVA==",
"resolved": "https://registry.npmjs.org/zod/-/zod-4.1.12.tgz",
github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=
checksum = "b4a1f1ce4a1e1a4a1f1ce4a1e1a4a1f1ce4a1e1a4a1f1ce4a1e1a4a1f1ce4a1e"
narHash = "sha256-Xg1oQm5Yk8d1cQ2h9c1k4B7rP8fZt0mX3yV5nW6aL0s=";
--hash=sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vZ1x8hQ2 ada@laptop
SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
0x52908400098527886E0F7030069857D2E4169EE7
main.8f3a2b1c.chunk.js
index-DiwrgTda.js
assets/logo-2x-dark-background.png
claude-sonnet-4-5-20250929
gpt-4.1-mini-2025-04-14
x86_64-unknown-linux-gnu
arn:aws:iam::123456789012:role/deploy
us-east-1.console.aws.amazon.com
getServerSidePropsForAuthenticatedUsers
ThisIsAVeryLongClassNameForATestOfCamelCase
SOME_VERY_LONG_CONSTANT_NAME_FOR_A_LIMIT
some_very_long_function_name_with_many_words(argument)
packages/retinue/src/continuity/recall/session-search.ts
node_modules/@types/node/v20/child_process.d.ts
/usr/lib/python3/dist-packages/pip/_internal/cli/main.py
C:\Users\ada\AppData\Local\Programs\Python\Python312
2024-01-15T10:30:45.123Z INFO server started on port 3000
[2024-01-15 10:30:45] POST /api/login 401 12ms
Jan 15 10:30:45 host sshd[1234]: Failed password for root from 10.0.0.1 port 22 ssh2
127.0.0.1 - - [15/Jan/2024:10:30:45 +0000] "GET /token HTTP/1.1" 200 512
level=info msg="token refreshed" user=ada duration=12ms
error: Invalid token at position 12
SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON
Unexpected token } in JSON at position 42
Error: 401 Incorrect API key provided
TypeError: Cannot read properties of undefined (reading 'token')
    at Object.<anonymous> (/app/src/token.ts:12:5)
warning: password authentication is deprecated
npm warn deprecated inflight@1.0.6: This module is not supported
added 312 packages, and audited 313 packages in 8s
sk-fading-circle sk-circle-container
.sk-folding-cube .sk-cube-parent-wrapper:before {
task-runner and disk-usage
npm_config_registry npm_package_version
pk_column_name_of_table
test_user_can_reset_password_with_valid_token
live_reload_server_configuration_options
ghp_ is the prefix of personal tokens
keys begin with sk-ant- or sk-proj-
AKIA is the prefix of access keys
eyJ is how every JSON web token begins
a line with a "quoted" word and an 'apostrophe'
It's the token's owner who decides.
Don't share your password with anybody.
What is the difference between a token and a key?
How do I reset my password?
Where is the secret stored?
I forgot my password, can you help me?
We store no passwords, only hashes.
She whispered the secret to him.
The monkey climbed the turkey tree.
A donkey, a jockey and a hockey key ring.
keyboard: qwerty layout
Keynote: the state of the web
hotkey: ctrl+shift+p
keyframes: fade-in
keywords: redaction, security, logs
apikey: string
credential: PublicKeyCredential
credentials: "include",
credentials: same-origin
fetch(url, { credentials: "omit" })
csrf: enabled
signature: (a: number, b: number) => number
function signature: two numbers
"signature": "function(a, b)",
salt: 10
hash: string
seed: 42
pin: 3
code: 200
code is 404
the code is 1234 lines long
exit code: 137
status code is 2024
nonce: number
SPDX-License-Identifier: MIT
license: Apache-2.0
version: 1.2.3-beta.4
"version": "10.15.1",
node: ">=20.19.0"
"type": "module",
"scripts": { "test": "vitest run" },
"private": true,
private key: KeyObject;
publicKey: string;
const publicKey = await importKey("jwk", jwk);
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
a PEM file starts with -----BEGIN and the kind
ENV NODE_ENV=production
FROM node:20-alpine
RUN apt-get update && apt-get install -y curl
EXPOSE 3000
CMD ["node", "server.js"]
SELECT * FROM users WHERE email = 'ada@example.com';
SELECT token, expires_at FROM sessions WHERE user_id = 42;
UPDATE users SET password = crypt(password, gen_salt('bf'));
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
INSERT INTO settings (key, value) VALUES ('theme', 'dark');
password VARCHAR(255) NOT NULL,
token TEXT PRIMARY KEY,
secret BYTEA
<label for="password">Password</label>
<a href="/reset-password?step=2">Reset password</a>
<meta name="csrf-param" content="authenticity_token" />
<script src="https://cdn.example.com/lib@1.2.3/index.min.js"></script>
background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk);
color: #ff8800; /* token: accent */
--color-token-primary: var(--blue-500);
@media (max-width: 600px) { .key { display: none } }
x = a + b * c - d / e
const n = 12_345_678;
const pi = 3.14159265358979323846;
+49 30 1234567
4242 4242 4242 4242
ISBN 978-3-16-148410-0
Lorem ipsum dolor sit amet, consectetur adipiscing elit.
The quick brown fox jumps over the lazy dog.
Der Schlüssel liegt unter der Matte.
Le mot de passe est obligatoire.
La contraseña es obligatoria.
パスワードを入力してください。
| token | what it does | fields |
| GET /api/tokens | owner | The scoped tokens, without their secrets. |
- [ ] rotate the signing key
1. Open the settings and choose "API keys".
> The password is checked on the server.
**Token**: a unit of text.
[tokens]: https://example.com/docs/tokens
assert.equal(tokens.length, 3);
it("hides the token", () => {});
vi.spyOn(console, "log");
tokens.push({ type: "word", value: word });
state.token = action.payload.token;
const [token, setToken] = useState("");
<TokenProvider token={token}>
dispatch({ type: "SET_TOKEN", token });
env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
secrets: inherit
permissions: { id-token: write }
uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
cache-key: node-20-linux-lockfile
restore-keys: node-20-
key: deps-v2-main
authToken?: () => Promise<string>;
getAccessToken(): Promise<AccessToken>;
passphrase: undefined,
pwd
cd "$(pwd)"
pwd=$(pwd)
keyPath: "./certs/server.key",
key: fs.readFileSync("server.key"),
cert: readFileSync(path.join(dir, "server.crt")),
sig: AbortSignal
signal: AbortSignal.timeout(5000),
`
  .split("\n")
  .filter((line) => line !== "");
