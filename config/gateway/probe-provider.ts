import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import type { ProviderAdapter } from '../../core/contract/provider.ts'
import type { SecretRedactor } from '../../core/secrets/redact-secrets.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { parseJson } from '../../core/util/json.ts'
import { parseErrorBody } from '../../providers/shared/error-body.ts'
import { asObjects, asString } from '../../providers/shared/fields.ts'
import { REFUSED_CREDENTIALS } from '../../providers/shared/renew-credentials.ts'
import type { Settings } from '../settings/settings.ts'

type Row = Settings['providers'][string]

/** What a provider answered, or why it did not. */
export type Probe =
  | { readonly models: readonly string[]; readonly note?: string }
  | { readonly problem: string }

/** Where formats list the models, free of charge. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['openai', 'models'],
  ['deepseek', 'models'],
  ['anthropic', 'v1/models?limit=1000'],
  ['mistral', 'v1/models'],
  ['gemini', 'v1beta/models?pageSize=1000'],
])

/** The address that shows free of charge whether address and key are right. Undefined if there is none. */
export function findListUrl({ format, base_url, check_path, query, auth }: Row): URL | undefined {
  const path = check_path ?? LISTS.get(format)
  // A signature of AWS is for one method, which is that of inference.
  if (path === undefined || path === 'none' || base_url === undefined || auth === 'aws') return undefined
  const base = base_url.replace(/\/*$/, '/')
  // A deployment of Azure lists no models.
  const [, azure] = /^(https?:\/\/.*\/openai\/)deployments\//.exec(base) ?? []
  if (azure === undefined && base.includes('{model}')) return undefined
  const url = new URL(path, azure ?? base)
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
  return url
}

/** Seconds that a provider may take for its list. */
const TIMEOUT_SECONDS = 15

/** Lists the models of a provider. Never rejects. */
export async function listModels(
  url: URL,
  row: Row,
  headers: Readonly<Record<string, string>>,
  redactor: SecretRedactor,
): Promise<Probe> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000)
    const target = new URL(url)
    target.username = ''
    target.password = ''
    const response = await fetch(target, { headers, redirect: 'manual', signal })
    const text = await response.text()
    if (!response.ok)
      return { problem: describeStatus(response.status, parseJson(redactor.json(text)), url, row) }
    const body = parseJson(text)
    if (body === undefined)
      return { problem: `${place(url)} answered with something else than JSON. ${baseUrlAdvice(row)}` }
    return { models: readNames(body) }
  } catch (error) {
    return { problem: describeNetworkError(error, url) }
  }
}

/** The headers of a request with the key of a row. */
export function buildKeyHeaders(row: Row, adapter: ProviderAdapter): Readonly<Record<string, string>> {
  const version = row.format === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {}
  if (row.api_key === undefined || row.auth === 'none') return version
  if (typeof row.auth === 'object') return { ...version, [row.auth.header]: row.api_key }
  return { ...version, ...adapter.buildAuthHeaders(row.api_key) }
}

/** The names in a list of any format. Some have no envelope, and some are not lists of models. */
function readNames(body: unknown): readonly string[] {
  const rows = isJsonObject(body) ? (body.data ?? body.models) : body
  return asObjects(Array.isArray(rows) ? rows : [])
    .map(({ id, name }) => asString(id) || asString(name).replace(/^models\//, ''))
    .filter((name) => name !== '')
}

/** Without a user and a password, and without the query. */
function place({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

function describeStatus(status: number, body: unknown, url: URL, row: Row): string {
  const { message, code } = parseErrorBody(body)
  const said = message === '' ? '' : ` It says: ${JSON.stringify(message.slice(0, 200))}`
  // Gemini and xAI answer a wrong key with 400.
  if (status === 401 || (status === 400 && /api.?key/i.test(`${code} ${message}`))) {
    if (row.auth === 'none')
      return `${url.host} needs a key (${status}): set key_variable in place of auth: none.`
    return describeRejection(String(status), row)
  }
  if (status === 403) return `${describeDenial('403', row)}${said}`
  if (status === 404) return `${place(url)} was not found (404). ${baseUrlAdvice(row)}`
  if (status >= 300 && status < 400)
    return `${place(url)} redirects to another address (${status}). ${baseUrlAdvice(row)}`
  if (status === 429) return `The provider limits requests at the moment (429).${said}`
  return `${place(url)} answered with ${status}.${said}`
}

function describeRejection(status: string, { key_variable, auth }: Row): string {
  return typeof auth === 'string'
    ? `The credentials were rejected (${status}). ${IDENTITY_ADVICE}`
    : `The key was rejected (${status}). Check ${key_variable}.`
}

function describeDenial(status: string, { auth }: Row): string {
  return typeof auth === 'string'
    ? `The identity has no access (${status}). Check its permissions and the account.`
    : `The key has no access (${status}). Check its permissions and the account.`
}

const IDENTITY_ADVICE = 'Check the settings beside auth.'

/**
 * What the error of a call means for the operator. Its message is for callers; status and code are in the
 * cause.
 */
export function describeCallError(error: unknown, row: Row, baseUrl: string | undefined): string {
  if (!GatewayError.isInstance(error)) return errorMessage(error)
  const cause = error.cause instanceof Error ? error.cause.message : ''
  const [, status] = /^HTTP (\d{3}.*)$/.exec(cause) ?? []
  if (error.code === 'provider_authentication_error') {
    if (status === undefined) return `The credentials cannot be had: ${cause}. ${IDENTITY_ADVICE}`
    const isRejected = !status.startsWith('403') || REFUSED_CREDENTIALS.test(cause)
    return isRejected ? describeRejection(status, row) : describeDenial(status, row)
  }
  if (error.code === 'model_not_found')
    return `${error.message.replace(/\.?$/, '.')} Name another model with --model.`
  if (baseUrl === undefined || status !== undefined) return error.message
  const [, code] = /^([A-Z][A-Z\d_]+):/.exec(cause) ?? []
  if (error.code === 'provider_unreachable' || code !== undefined)
    return describeConnection(code ?? '', new URL(baseUrl))
  if (error.code === 'provider_timeout') return `${error.message} Check base_url and timeouts.first_byte_ms.`
  return error.message
}

function baseUrlAdvice({ format }: Row): string {
  const [path = ''] = LISTS.get(format)?.split('?') ?? []
  return `Check base_url, which is the part of the address before /${path}.`
}

/** By the code of the error below `fetch failed`. */
function describeNetworkError(error: unknown, url: URL): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (error instanceof Error && error.name === 'TimeoutError')
    return `${url.host} did not answer within ${TIMEOUT_SECONDS} seconds. Check base_url.`
  return describeConnection(isErrorWithCode(cause) ? String(cause.code) : '', url)
}

function describeConnection(code: string, { host, hostname }: URL): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The host ${hostname} was not found. Check base_url and the name server.`
  if (code === 'ECONNREFUSED')
    return `${host} refused the connection. Check that the server runs, and its port.`
  if (code.includes('TIMEOUT') || code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return `${host} cannot be reached (${code}). Check base_url and the firewall.`
  if (/CERT|SELF_SIGNED|VERIFY|ALTNAME/.test(code))
    return (
      `The TLS certificate of ${host} is not trusted (${code}). If it is your own, set NODE_EXTRA_CA_CERTS ` +
      'to the file of its authority.'
    )
  if (/SSL|TLS|EPROTO/.test(code))
    return `${host} does not speak TLS (${code}). Check the scheme of base_url.`
  return `The connection to ${host} failed${code && ` (${code})`}. Check base_url.`
}

function isErrorWithCode(error: unknown): error is Error & { readonly code: unknown } {
  return error instanceof Error && 'code' in error
}
