import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  MODERN_REVISION,
  objectOf,
  PROTOCOL_VERSION,
  RPC,
  SERVER_INFO,
  SESSION_REVISIONS,
  UPSTREAM_SESSION_REVISIONS,
} from '../protocol.ts'
import { invalidMessage, type Outcome } from './envelope.ts'
import type { ServerDescription, UpstreamContext, UpstreamMessage, UpstreamSession } from './upstream.ts'

const OUR_INFO = { name: 'signalbox', version: '1' }

/** Descriptions of servers are small. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024

/** Builds the JSON of a request in the revision without sessions. */
export function buildModernRequest(
  id: string,
  { method, params, argumentsText }: UpstreamMessage,
  { capabilities, clientInfo = OUR_INFO, logLevel, span }: Partial<UpstreamContext>,
): string {
  span?.describe(id, MODERN_REVISION)
  const _meta = {
    ...ownMeta(params, id, span),
    [PROTOCOL_VERSION]: MODERN_REVISION,
    [CLIENT_INFO]: clientInfo,
    [CLIENT_CAPABILITIES]: capabilities ?? {},
    ...(logLevel !== undefined && { [LOG_LEVEL]: logLevel }),
  }
  return buildRequest(id, method, { ...params, _meta }, argumentsText)
}

/** Builds the JSON of a request in a revision with sessions. */
export function buildSessionRequest(
  id: string,
  { method, params, argumentsText }: UpstreamMessage,
  { span }: Pick<UpstreamContext, 'span'> = {},
): string {
  const meta = Object.entries(ownMeta(params, id, span))
  const _meta = Object.fromEntries(meta.filter(([name]) => !MODERN_FIELDS.has(name)))
  const { _meta: _, ...rest } = params
  const all = Object.keys(_meta).length === 0 ? rest : { ...rest, _meta }
  return buildRequest(id, method, all, argumentsText)
}

const MODERN_FIELDS = new Set([PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL])

/** The token of the client may be that of another one, too. The server continues the trace below our span. */
function ownMeta(params: JsonObject, id: string, span: UpstreamContext['span']): JsonObject {
  const given = objectOf(params._meta)
  const meta = given.progressToken === undefined ? given : { ...given, progressToken: id }
  if (span === undefined) return meta
  const { traceparent: _, tracestate: __, ...rest } = meta
  return { ...rest, ...span.fields }
}

function buildRequest(id: string, method: string, params: JsonObject, argumentsText?: string): string {
  const { arguments: _, ...rest } = params
  const json = JSON.stringify(argumentsText === undefined ? params : rest)
  const separator = json === '{}' ? '' : ','
  const content =
    argumentsText === undefined ? json : `{"arguments":${argumentsText}${separator}${json.slice(1)}`
  return `{"jsonrpc":"2.0","id":"${id}","method":${JSON.stringify(method)},"params":${content}}`
}

export const DISCOVER: UpstreamMessage = { method: 'server/discover', params: {} }

export function initializeMessage({ session, clientInfo = OUR_INFO }: UpstreamContext): UpstreamMessage {
  const [protocolVersion] = SESSION_REVISIONS
  const params = { protocolVersion, capabilities: session.capabilities, clientInfo }
  return { method: 'initialize', params }
}

/**
 * What an answer to `server/discover` tells: the description of a server without sessions, or undefined if
 * the server must be initialized. Any error but those of the new revisions means that.
 */
export async function readDiscovery(outcome: Outcome): Promise<ServerDescription | undefined> {
  if ('error' in outcome) {
    const { code, data } = outcome.error
    const isModern = code === RPC.headerMismatch || code === RPC.missingCapability
    const supported: unknown = objectOf(data).supported
    const isKnown = Array.isArray(supported) && supported.includes(MODERN_REVISION)
    return isModern || (code === RPC.unsupportedVersion && isKnown) ? describeModern({}) : undefined
  }
  const result = parseResult(await outcome.result.text(MAX_DESCRIPTION_BYTES))
  const versions: unknown = result.supportedVersions
  return Array.isArray(versions) && versions.includes(MODERN_REVISION) ? describeModern(result) : undefined
}

function describeModern(result: JsonObject): ServerDescription {
  return {
    era: 'modern',
    revision: MODERN_REVISION,
    capabilities: objectOf(result.capabilities),
    serverInfo: objectOf(objectOf(result._meta)[SERVER_INFO]),
    instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
  }
}

/** Reads the answer to `initialize`. */
export async function readInitialization(outcome: Outcome, id: string | undefined): Promise<UpstreamSession> {
  if ('error' in outcome) throw invalidMessage(`the error ${outcome.error.code} for initialize`)
  const result = parseResult(await outcome.result.text(MAX_DESCRIPTION_BYTES))
  const revision = String(result.protocolVersion)
  if (!UPSTREAM_SESSION_REVISIONS.includes(revision))
    throw invalidMessage('a revision of the protocol that the gateway does not know')
  return {
    era: 'session',
    id,
    revision,
    capabilities: objectOf(result.capabilities),
    serverInfo: objectOf(result.serverInfo),
    instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
  }
}

/** Parses the text of a result. Throws if it is not an object. */
export function parseResult(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {
    // As any other text that is not an object.
  }
  throw invalidMessage('a result that is not a JSON object')
}
