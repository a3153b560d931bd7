import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { findNetworkIssue } from '../../core/http/client-address.ts'
import { findOriginIssue } from '../../core/http/cors.ts'
import { findRecordKeyIssues } from '../../core/secrets/encryption-keys.ts'
import { findAlertIssues } from './check-alerts.ts'
import { findLedgerExportIssues } from './check-ledger-export.ts'

/**
 * Finds issues that the schema of the settings cannot express. Values of the wrong type are left to the
 * schema.
 */
export function findSettingsIssues(settings: JsonObject): readonly string[] {
  const {
    trusted_proxies,
    cors,
    providers,
    ledger,
    record_key,
    audit,
    audit_export_secret,
    identity,
    mcp,
    host,
  } = settings
  const origins = isJsonObject(cors) ? cors.origins : undefined
  const recordPrompts = isJsonObject(ledger) ? ledger.record_prompts : undefined
  const recordKey = typeof record_key === 'string' ? record_key : undefined
  return [
    ...findRecordKeyIssues(recordPrompts, recordKey),
    ...findReplyIssues(ledger),
    ...findItemIssues('trusted_proxies', trusted_proxies, findNetworkIssue),
    ...findItemIssues('cors.origins', origins, findOriginIssue),
    ...findItemIssues('mcp.allow_private_addresses', networksOf(mcp), findNetworkIssue),
    ...findExportIssues(audit, audit_export_secret),
    ...findAlertIssues(settings),
    ...findLedgerExportIssues(settings),
    ...findCallerIssues(identity),
    ...findConsoleIssues(identity, host),
    ...Object.entries(isJsonObject(providers) ? providers : {}).flatMap(([id, row]) =>
      isJsonObject(row) ? findProviderIssues(`providers.${id}`, row) : [],
    ),
  ]
}

function networksOf(mcp: unknown): unknown {
  return isJsonObject(mcp) ? mcp.allow_private_addresses : undefined
}

/** A reply is recorded with its prompt, or not at all. */
function findReplyIssues(ledger: unknown): readonly string[] {
  const { record_replies, record_prompts } = isJsonObject(ledger) ? ledger : {}
  if (record_replies !== true || record_prompts !== 'off') return []
  return ['ledger.record_replies requires ledger.record_prompts: set it to masked or full']
}

/** A webhook must be able to tell the gateway from others. */
function findExportIssues(audit: unknown, secret: unknown): readonly string[] {
  const target = isJsonObject(audit) && isJsonObject(audit.export) ? audit.export : {}
  if (target.webhook_url === undefined || secret) return []
  return ['audit.export.webhook_url needs a secret of at least 16 characters: set AUDIT_EXPORT_SECRET']
}

function findItemIssues(
  setting: string,
  items: unknown,
  findIssue: (item: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(items)) return []
  return items.flatMap((item, index) => {
    const issue = typeof item === 'string' ? findIssue(item) : undefined
    return issue === undefined ? [] : [`${setting}[${index}] ${issue}`]
  })
}

/** Headers that the gateway or the HTTP client sets. */
const RESERVED_HEADERS = [
  'accept',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]

/** The fields of a provider's row that a kind of cloud credentials needs. */
const NEEDED_FIELDS: Readonly<Record<string, readonly string[]>> = { aws: ['region'] }
const VERTEX_FIELDS = ['project', 'location']

function findProviderIssues(setting: string, row: JsonObject): readonly string[] {
  const { format, base_url, auth, key_variable, client_secret_variable, fields, body } = row
  const { deployments, balance } = row
  const issues: string[] = []
  for (const field of NEEDED_FIELDS[String(auth)] ?? [])
    if (row[field] === undefined) issues.push(`${setting}.${field} is needed with auth: ${auth}`)
  for (const field of format === 'vertex' ? VERTEX_FIELDS : [])
    if (row[field] === undefined) issues.push(`${setting}.${field} is needed with format: vertex`)
  if (client_secret_variable !== undefined)
    for (const field of ['tenant_id', 'client_id'])
      if (row[field] === undefined) issues.push(`${setting}.${field} is needed with client_secret_variable`)
  const rows = Array.isArray(deployments) ? deployments.filter(isJsonObject) : []
  for (const { id, base_url, key } of rows) {
    const name = `${setting}.deployments (${id})`
    if (rows.filter((row) => row.id === id).length > 1) issues.push(`${name}: the id must be unique`)
    if (typeof base_url === 'string' && /[?#]/.test(base_url))
      issues.push(`${name}: base_url must not contain "?" or "#"`)
    if (auth === 'none' && key !== undefined) issues.push(`${name} has a key although auth is none`)
  }
  if (balance !== undefined && rows.length === 0)
    issues.push(`${setting}.balance needs ${setting}.deployments; remove it or list them`)
  if (typeof base_url === 'string' && /[?#]/.test(base_url))
    issues.push(`${setting}.base_url must not contain "?" or "#"; set query parameters with ${setting}.query`)
  if ((fields ?? body) !== undefined && format !== 'openai')
    issues.push(`${setting}.${fields === undefined ? 'body' : 'fields'} requires the format openai`)
  if (typeof auth === 'string' && key_variable !== undefined)
    issues.push(`${setting} has both auth: ${auth} and key_variable; remove one of them`)
  const header = isJsonObject(auth) && typeof auth.header === 'string' ? auth.header.toLowerCase() : ''
  if (RESERVED_HEADERS.includes(header))
    issues.push(`${setting}.auth.header must not be ${header}, which the gateway sets itself`)
  return issues
}

/** The entries of an issuer share its keys. */
function findCallerIssues(identity: unknown): readonly string[] {
  const callers = isJsonObject(identity) && Array.isArray(identity.callers) ? identity.callers : []
  const rows = callers.filter(isJsonObject)
  const isOther = ({ issuer, jwks_uri }: JsonObject) =>
    rows.find((row) => row.issuer === issuer)?.jwks_uri !== jwks_uri
  return rows
    .filter(isOther)
    .map(({ issuer }) => `identity.callers must have the same jwks_uri, or none, in all entries of ${issuer}`)
}

const LOOPBACK_HOSTS = ['127.0.0.1', '::1', 'localhost']

/** Behind an address of others, the address that browsers use cannot be known. */
function findConsoleIssues(identity: unknown, host: unknown): readonly string[] {
  const settings = isJsonObject(identity) && isJsonObject(identity.console) ? identity.console : undefined
  if (settings === undefined || settings.url || LOOPBACK_HOSTS.includes(String(host))) return []
  return [
    `identity.console.url is required with the host ${host}: set it to the address of the gateway for ` +
      'browsers, such as https://signalbox.example.com',
  ]
}
