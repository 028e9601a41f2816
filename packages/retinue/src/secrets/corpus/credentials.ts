/**
 * Credentials as they stand in everyday text, one per entry, for the tests of redaction.
 *
 * Nothing here is a credential: `«alnum 24»` is replaced by that many characters when a test runs, always the same ones, and `«=word»` by the
 * word. Both are what must not be readable afterwards.
 */
export const CREDENTIALS: readonly string[] = [
  // Model providers
  "OPENAI_API_KEY=sk-proj-«url 48»",
  "openai key sk-«alnum 48» in the notes",
  "sk-svcacct-«url 60»",
  "ANTHROPIC_API_KEY: sk-ant-api03-«url 80»AA",
  "export GROQ_API_KEY=gsk_«alnum 52»",
  "xai-«alnum 80»",
  "GEMINI_API_KEY=AIza«url 35»",
  "pplx-«alnum 48»",
  "hf_«letters 34»",
  "REPLICATE_API_TOKEN=r8_«alnum 37»",
  "fw_«alnum 24»",
  "nvapi-«url 64»",
  "sk-or-v1-«hex 64»",
  "COHERE_API_KEY=«alnum 40»",
  "MISTRAL_API_KEY=«alnum 32»",
  'deepseek = OpenAI(api_key="sk-«hex 32»", base_url="https://api.deepseek.com")',
  "TOGETHER_API_KEY=«hex 64»",
  "LANGSMITH_API_KEY=lsv2_pt_«hex 32»_«hex 10»",
  "tvly-«alnum 32»",
  '{"api-key": "«hex 32»"}',
  "AZURE_OPENAI_API_KEY=«hex 32»",
  // Code hosting and registries
  "ghp_«alnum 36»",
  "gho_«alnum 36»",
  "ghs_«alnum 36»",
  "github_pat_«alnum 22»_«alnum 59»",
  "git clone https://x-access-token:«alnum 40»@github.com/acme/shop.git",
  "git clone https://oauth2:glpat-«url 20»@gitlab.com/acme/shop.git",
  "glpat-«url 20»",
  "//registry.npmjs.org/:_authToken=npm_«alnum 36»",
  "//npm.acme.dev/:_auth=«base64 40»",
  '_auth = "«base64 32»"',
  "//registry.acme.dev/:_password=«base64 24»",
  "pypi-AgEIcHlwaS5vcmc«url 120»",
  "DOCKER_PAT=dckr_pat_«url 27»",
  '{"auths":{"https://index.docker.io/v1/":{"auth":"«base64 36»"}}}',
  "rubygems_«hex 48»",
  "CARGO_REGISTRY_TOKEN=cio«alnum 32»",
  "ATLASSIAN_TOKEN=ATATT3xFfGF0«url 180»",
  "BITBUCKET_APP_PASSWORD=ATBB«alnum 32»",
  "SONAR_TOKEN=squ_«hex 40»",
  "CIRCLE_TOKEN=CCIPAT_«alnum 22»_«hex 40»",
  // Clouds
  "aws_access_key_id = AKIA«upper 16»",
  "aws_secret_access_key = «base64 40»",
  "AWS_SESSION_TOKEN=FwoGZXIvYXdzE«base64 200»",
  "ASIA«upper 16»",
  '"SecretAccessKey": "«base64 40»",',
  "https://bucket.s3.amazonaws.com/a.txt?X-Amz-Credential=AKIA«upper 16»/20240101/us-east-1/s3/aws4_request&X-Amz-Signature=«hex 64»",
  "GOCSPX-«url 28»",
  "refresh_token: 1//0g«url 90»",
  "ya29.a0Af«url 140»",
  '{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\nMIIEv«base64 64»\\n«base64 64»\\n-----END PRIVATE KEY-----\\n"}',
  "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=«base64 86»==;EndpointSuffix=core.windows.net",
  "Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«base64 43»=",
  "https://acme.blob.core.windows.net/c?sv=2022-11-02&se=2025-01-01&sig=«base64 43»%3D",
  "AZURE_CLIENT_SECRET=abc8Q~«url 34»",
  "client secret value: k1z8Q~«url 34»",
  "DIGITALOCEAN_TOKEN=dop_v1_«hex 64»",
  "CLOUDFLARE_API_TOKEN=«url 40»",
  "X-Auth-Key: «hex 37»",
  "HEROKU_API_KEY=«hex 8»-«hex 4»-«hex 4»-«hex 4»-«hex 12»",
  "VERCEL_TOKEN=«alnum 24»",
  "NETLIFY_AUTH_TOKEN=nfp_«alnum 36»",
  "FLY_API_TOKEN=fm2_«base64 120»",
  "SUPABASE_SERVICE_ROLE_KEY=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJ«url 80».«url 43»",
  "sbp_«hex 40»",
  "pscale_tkn_«url 43»",
  "tskey-auth-«alnum 12»CNTRL-«alnum 32»",
  "VAULT_TOKEN=hvs.«url 90»",
  "X-Vault-Token: s.«alnum 24»",
  "vault login hvb.«url 120»",
  "TF_TOKEN_app_terraform_io=«alnum 14».atlasv1.«url 67»",
  "DOPPLER_TOKEN=dp.st.prd.«alnum 43»",
  "OP_SERVICE_ACCOUNT_TOKEN=ops_eyJ«url 250»",
  "DATABRICKS_TOKEN=dapi«hex 32»",
  "PULUMI_ACCESS_TOKEN=pul-«hex 40»",
  "ALIBABA_ACCESS_KEY_ID=LTAI«alnum 20»",
  // Messages, payment, mail
  "xoxb-«digits 12»-«digits 13»-«alnum 24»",
  "xapp-1-A«upper 10»-«digits 13»-«hex 64»",
  "https://hooks.slack.com/services/T«upper 8»/B«upper 10»/«alnum 24»",
  "https://discord.com/api/webhooks/«digits 19»/«url 68»",
  "https://discordapp.com/api/webhooks/«digits 18»/«url 68»",
  "DISCORD_TOKEN=MTk4«alnum 21».«alnum 6».«url 38»",
  'client.login("MTA2«alnum 22».G«alnum 5».«url 38»");',
  "https://api.telegram.org/bot«digits 10»:AA«url 33»/sendMessage",
  "bot token 1234567890:AA«url 33»",
  "https://acme.webhook.office.com/webhookb2/«hex 8»-«hex 4»-«hex 4»-«hex 4»-«hex 12»@«hex 32»/IncomingWebhook/«hex 32»/«hex 32»",
  "https://hooks.zapier.com/hooks/catch/«digits 7»/«alnum 9»7/",
  "https://maker.ifttt.com/trigger/door/with/key/«url 22»7",
  "TWILIO_AUTH_TOKEN=«hex 32»",
  "twilio.api.Client('AC«hex 32»', '«alnum 32»')",
  "SK«hex 32»",
  "SENDGRID_API_KEY=SG.«url 22».«url 43»",
  "MAILGUN_API_KEY=key-«hex 32»",
  "xkeysib-«hex 64»-«alnum 16»",
  "re_«alnum 8»_«alnum 24»",
  "STRIPE_SECRET_KEY=sk_live_«alnum 24»",
  "rk_live_«alnum 99»",
  "whsec_«base64 32»",
  "SQUARE_ACCESS_TOKEN=EAAA«url 60»",
  "sq0csp-«url 43»",
  "shpat_«hex 32»",
  "access_token$production$«lower 16»$«hex 32»",
  "PAYPAL_CLIENT_SECRET=E«url 79»",
  "EAACEdEose0cBA«alnum 120»",
  "TWITTER_BEARER=AAAAAAAAAAAAAAAAAAAAAA«alnum 80»",
  // Monitoring and work
  "NEW_RELIC_API_KEY=NRAK-«upper 27»",
  "DD_API_KEY=«hex 32»",
  "glsa_«alnum 32»_«hex 8»",
  "SENTRY_DSN=https://«hex 32»@o1.ingest.sentry.io/2",
  "sntrys_eyJ«base64 120»",
  "LINEAR_API_KEY=lin_api_«alnum 40»",
  "NOTION_TOKEN=secret_«alnum 43»",
  "ntn_«alnum 46»",
  "figd_«url 40»",
  "AIRTABLE_API_KEY=key«alnum 14»",
  "pat«alnum 14».«hex 64»",
  "PMAK-«hex 24»-«hex 34»",
  "pat-na1-«hex 8»-«hex 4»-«hex 4»-«hex 4»-«hex 12»",
  "ASANA_PAT=1/«digits 16»:«hex 32»",
  "PAGERDUTY_TOKEN=«url 20»",
  "OKTA_API_TOKEN=00«url 40»",
  "ALGOLIA_ADMIN_KEY=«hex 32»",
  "MAPBOX_TOKEN=sk.eyJ«url 80».«url 22»",
  "SNYK_TOKEN=«hex 8»-«hex 4»-«hex 4»-«hex 4»-«hex 12»",
  // Headers
  "Authorization: Bearer «url 40»",
  "authorization: bearer «alnum 20»",
  "Authorization: Basic «base64 24»",
  "Proxy-Authorization: Basic «base64 24»",
  'Authorization: Digest username="me", realm="x", nonce="«hex 32»", response="«hex 32»"',
  "Authorization: AWS4-HMAC-SHA256 Credential=AKIA«upper 16»/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=«hex 64»",
  "Authorization: Token «hex 40»",
  "Authorization: ApiKey «base64 48»",
  "Authorization: Negotiate «base64 60»",
  "Authorization: SharedKey acme:«base64 43»=",
  "Authorization: token ghp_«alnum 36»",
  "Authorization: Bot MTk4«alnum 21».«alnum 6».«url 27»",
  "Authorization: GenieKey «hex 8»-«hex 4»-«hex 4»-«hex 4»-«hex 12»",
  "Authorization: «alnum 32»",
  `headers: { Authorization: "Bearer «alnum 30»" }`,
  `curl -H 'Authorization: Bearer «alnum 30»' https://api.acme.dev`,
  `curl -H "X-Api-Key: «hex 32»" https://api.acme.dev`,
  "Cookie: session=«alnum 32»; theme=dark",
  "Set-Cookie: connect.sid=s%3A«url 32».«alnum 43»; Path=/; HttpOnly",
  "cookie: _gh_sess=«base64 60»",
  "X-Auth-Token: «hex 32»",
  "PRIVATE-TOKEN: «url 20»",
  "x-goog-api-key: «alnum 39»",
  "Ocp-Apim-Subscription-Key: «hex 32»",
  "X-Amz-Security-Token: «base64 100»",
  // Names and values
  "DB_PASS=«=hunter2horse»",
  "DB_PASSWORD='«=correct-horse»'",
  "MYSQL_PWD=«=t0psecret!»",
  "PGPASSWORD=«=swordfish» psql -h db",
  "export SECRET_KEY_BASE=«hex 64»",
  "SECRET_KEY = 'django-insecure-«alnum 50»'",
  "JWT_SECRET=«alnum 32»",
  "password: «=S0mething!»",
  'password = "«=letmein99»"',
  "spring.datasource.password=«=Pr0duction»",
  '{"username":"ada","password":"«=analytical1»"}',
  '{"client_id":"shop","client_secret":"«alnum 32»"}',
  `{"body":"{\\"password\\":\\"«=nested7pass»\\",\\"user\\":\\"ada\\"}"}`,
  `{"a":"{\\"b\\":\\"{\\\\\\"token\\\\\\":\\\\\\"«alnum 24»\\\\\\"}\\"}"}`,
  "<password>«=xml7secret»</password>",
  `<add key="ApiToken" value="«alnum 32»" />`,
  "- name: DB_PASSWORD\n  value: «=kube7secret»",
  '{"name":"API_TOKEN","value":"«alnum 30»"}',
  "https://api.acme.dev/v1?access_token=«alnum 32»&page=2",
  "https://api.acme.dev/v1?api_key=«hex 32»",
  "grant_type=password&username=ada&password=«=form7value»",
  "passphrase: «=open-sesame-42»",
  'encryption_key = "«base64 44»"',
  "redis password is «=r3disPass»",
  "the password is «=hunter2»",
  "The password is «=swordfish».",
  "my password for the server is «=Tr0ub4dor&3»",
  "the pin is «=4711»",
  "the api key is «alnum 32»",
  "PIN: «=9274»",
  "machine github.com login ada password «=netrc7pass»",
  "db.acme.dev:5432:shop:ada:«alnum 24»",
  // Command lines
  "curl -u ada:«=s3cretpw» https://api.acme.dev",
  "curl --user 'ada:«=s3cretpw'»".replace("'»", "»'"),
  "mysql -u root -p«=r00tpass» shop",
  "sshpass -p '«=sshS3cret»' ssh ada@host",
  "docker login -u ada -p «=d0ckerpass» registry.acme.dev",
  "redis-cli -h cache -a «=c4chepass» ping",
  "deploy --token «alnum 32»",
  "tool --password «=fl4gvalue» run",
  "gh-tool --api-key=«alnum 32»",
  "openssl pkcs12 -in a.p12 -passin pass:«=p12secret»",
  // Connection strings
  "postgres://app:«=s3cretpw»@db.acme.dev:5432/shop",
  "postgresql://app:«=p%40ss%2Fword1»@db/shop?sslmode=require",
  "mysql://root:«=toor12»@localhost/shop",
  "mongodb+srv://app:«alnum 16»@cluster0.mongodb.net/shop",
  "redis://:«=redispw1»@cache:6379/0",
  "amqp://guest:«=gu3st»@mq:5672/",
  "Server=db;Database=shop;User Id=sa;Password=«=Str0ng!Pw»;",
  "jdbc:postgresql://db/shop?user=ada&password=«=jdbc7pass»",
  "Data Source=db;Uid=sa;Pwd=«=p4ssw0rd»;",
  "sftp://ada:«=sftp7pass»@files.acme.dev/in",
  "smtps://mailer:«alnum 20»@smtp.acme.dev:465",
  // Blocks
  "-----BEGIN RSA PRIVATE KEY-----\n«base64 64»\n«base64 64»\n-----END RSA PRIVATE KEY-----",
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA«base64 50»\n-----END OPENSSH PRIVATE KEY-----",
  "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI«base64 55»",
  "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQVYBF«base64 58»\n=«base64 4»\n-----END PGP PRIVATE KEY BLOCK-----",
  "-----BEGIN PGP MESSAGE-----\n\nhQEMA«base64 59»\n-----END PGP MESSAGE-----",
  "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo«base64 120»",
  "AGE-SECRET-KEY-1«upper 58»",
  // Tokens without a name
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx«url 20».«url 43»",
  "here it is: «alnum 40»",
  "use «base64 40» for staging",
];

const ALPHABETS: Readonly<Record<string, string>> = {
  hex: "0123456789abcdef",
  digits: "0123456789",
  lower: "abcdefghijklmnopqrstuvwxyz0123456789",
  upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
  letters: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
  alnum: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
  url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
  base64: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
};

export interface Example {
  /** As it is written above. */
  pattern: string;
  text: string;
  secrets: string[];
}

/** The entry with its values; another seed gives other ones. */
export function exampleOf(pattern: string, seed = 1): Example {
  const secrets: string[] = [];
  let state = (seed * 2_654_435_761 + pattern.length * 40_503) >>> 0;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = pattern.replace(/«(?:=([^»]*)|(\w+) (\d+))»/g, (_, word?: string, alphabet = "", size = "0") => {
    const letters = ALPHABETS[alphabet] ?? "";
    const value = word ?? Array.from({ length: Number(size) }, () => letters[next(letters.length)]).join("");
    secrets.push(value);
    return value;
  });
  return { pattern, text, secrets };
}

/** What of a secret can still be read: all of it, or a half that is long enough to matter. */
export function readable({ secrets }: Example, shown: string): string[] {
  return secrets.filter((secret) => {
    const half = Math.ceil(secret.length / 2);
    const parts = secret.length >= 16 ? [secret.slice(0, half), secret.slice(half)] : [secret];
    return parts.some((part) => shown.includes(part));
  });
}
