/**
 * Credentials that are known by their beginning: what each begins with, which characters follow, and how many at least.
 *
 * Data, from what the providers publish about their formats. A line may list several beginnings. To add one, add it here and an
 * example to corpus/credentials.txt.
 */
import { ALNUM, BASE64, DIGIT, DOT, JOINT, LOWER, UPPER } from "./characters.ts";

export interface Format {
  prefix: string;
  /** The classes of characters that follow. */
  body: number;
  min: number;
  kind: string;
}

const HEX = LOWER | DIGIT; // Wider than hexadecimal: such a beginning says enough.
const CAPITALS = UPPER | DIGIT;
const URL = ALNUM | JOINT;
const DOTTED = URL | DOT;
const LONG = ALNUM | JOINT | BASE64;

const TABLE: readonly [prefixes: string, body: number, min: number, kind?: string][] = [
  // Models
  ["sk- sk_ rk- rk_ pk- pk_", URL, 16],
  ["sk-ant- sk-proj- sk-svcacct- sk-or-v1- sk-admin- sk-lf- pk-lf-", URL, 16],
  ["sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", ALNUM, 10],
  ["gsk_ xai- pplx- fw_ r8_ hf_ api_org_ csk- nvapi- tgp_v1_ lin_api_ lin_oauth_ tvly- jina_ voy- e2b_", URL, 20],
  ["AIza AQ.Ab", URL, 30],
  ["esecret_", URL, 20],
  // Code hosting and registries
  ["ghp_ gho_ ghu_ ghs_ ghr_", ALNUM, 20],
  ["github_pat_ glpat- glptt- gldt- glrt- glcbt- glft- glsoat- gloas- glimt- glagent- glwt- GR1348941", URL, 16],
  ["npm_ npms_", ALNUM, 20],
  ["pypi- cio dckr_pat_ dckr_oat_ ATBB ATCTT3 ATATT3 ATCTT ATOA BBDC- oy2 cmVmdGtu AKCp", LONG, 24],
  ["rubygems_ jsr_ jsrp_ jsrd_", URL, 20],
  ["sgp_ slk_ sgph_ sgd_", URL, 20],
  ["CFPAT- ctp- ctpat-", URL, 20],
  // Clouds
  ["AKIA ASIA AGPA AROA AIDA ABIA ACCA AIPA ANPA ANVA", CAPITALS, 16],
  ["ABSK bedrock-api-key-", LONG, 30],
  ["GOCSPX- ya29. 1//0 1//1 4/0A", DOTTED, 20, "token"],
  ["LTAI AKLT AKID AKAPI", ALNUM, 12],
  ["dop_v1_ doo_v1_ dor_v1_ dose_v1_", HEX, 32],
  ["vcp_ vci_ vca_ vcr_ vck_ nfp_ nfc_ nfo_ nfu_ flyv1_ fm1_ fm2_ fo1_ FlyV1 rnd_ rw_ hrku-AA HRKU-AA", LONG, 20],
  ["cfut_ cfat_ cfk_ v1.0-", URL, 20],
  ["tskey- tfp_ pscale_pw_ pscale_tkn_ pscale_oauth_ sbp_ sb_secret_ sbs_ napi_ xata_ xau_", URL, 16],
  ["hvs. hvb. hvr. s.hvs b.AAAA r.AAAA", DOTTED, 20, "token"],
  ["atlasv1. dp.pt. dp.st. dp.ct. dp.scim. dp.audit. dp.sa. ops_eyJ pul- infisical.st.", DOTTED, 20, "token"],
  ["SCW", ALNUM, 20],
  ["dapi doa dose dkea dsapi", HEX, 32],
  // Messages, payment, mail
  ["xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-", LONG, 10],
  ["SG.", DOTTED, 32],
  ["SK AC", HEX, 32],
  ["key- pubkey- sig-key-", HEX, 32],
  ["xkeysib- xsmtpsib- re_ md- mlsn.", DOTTED, 24],
  ["whsec_", LONG, 16],
  ["EAAA EAA EAAG sq0atp- sq0csp- sq0idp- sandbox-sq0csp- sandbox-sq0idb-", URL, 22],
  ["access_token$production$ access_token$sandbox$", HEX, 20],
  ["live_ test_", ALNUM, 30],
  ["shpat_ shpca_ shppa_ shpss_ shptka_ shpit_ shpua_", HEX, 20],
  ["FLWSECK- FLWSECK_TEST- FLWPUBK_TEST- rzp_live_ rzp_test_ PMAK- PMAT-", URL, 14],
  ["amzn.mws. amzn1.oa2-cs.v1. Atza| Atzr| Aexo|", DOTTED, 20],
  ["AAAAAAAAAAAAAAAAAAAA", LONG, 30, "token"],
  // Monitoring, work, design
  ["NRAK- NRAL- NRJS- NRII- NRIQ- NRBR- NRRA- NRSP- eu01xx", URL, 20],
  ["glsa_ glc_ eyJrIjoi", LONG, 30],
  ["sntrys_ sntryu_ sntrya_ sntryi_", LONG, 20],
  [
    "pdus+ pdeu+ hlc_ hcaik_ hcxik_ hcalk_ dt0c01. dt0s01. dt0s08. lsv2_pt_ lsv2_sk_ phc_ phx_ phs_ sls_ bkua_ bkct_ bkaj_",
    LONG | DOT,
    20,
  ],
  ["ntn_ secret_ figd_ figo_ figu_ figdr_ lnk_ clkapi_ CCIPAT_ CCIPRJ_", URL | DOT, 30],
  ["pk_ pk.eyJ sk.eyJ tk.eyJ", DOTTED, 30],
  ["pat", ALNUM | DOT, 60],
  ["key", ALNUM, 14],
  ["doppler_ dG9rO tfp_", URL, 36],
  ["pat-na1- pat-eu1- pat-na2- pat-eu2- CLOJRS", URL, 24],
  ["AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", CAPITALS, 20, "private key"],
  ["A3-", CAPITALS | JOINT, 30],
  ["rdme_ duffel_live_ duffel_test_ EZAK EZTK fio-u- shippo_live_ shippo_test_", URL, 24],
  ["rtn_", URL, 20],
  // Encoded private keys without their first line
  [
    "MIIEpAIBAAKCAQEA MIIEowIBAAKCAQEA MIIJKQIBAAKCAgEA MIIEvQIBADANBgkq MIIEvgIBADANBgkq MIIEvAIBADANBgkq MIIJQgIBADANBgkq MIIJQwIBADANBgkq MIICXAIBAAKBgQ MIICXQIBAAKBgQ MC4CAQAwBQYDK2V MHcCAQEEI MIGHAgEAMBMGByqG MIGkAgEBBD b3BlbnNzaC1rZXktdjE",
    LONG,
    20,
    "private key",
  ],
  ["LS0tLS1CRUdJTiBS LS0tLS1CRUdJTiBQ LS0tLS1CRUdJTiBF LS0tLS1CRUdJTiBP LS0tLS1CRUdJTiBE", LONG, 20, "private key"],
  // A JSON web token or key
  ["eyJ", DOTTED, 20, "token"],
];

export const FORMATS: readonly Format[] = TABLE.flatMap(([prefixes, body, min, kind = "key"]) =>
  prefixes.split(" ").map((prefix) => ({ prefix, body, min, kind })),
);
