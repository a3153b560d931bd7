import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'

/** The revision without sessions: every request says its revision and capabilities in `_meta`. */
export const MODERN_REVISION = '2026-07-28'

/** Revisions of clients and servers that begin with `initialize`, newest first. */
export const SESSION_REVISIONS = ['2025-11-25', '2025-06-18'] as const

export const SUPPORTED_REVISIONS: readonly string[] = [MODERN_REVISION, ...SESSION_REVISIONS]

/** A server that answers `initialize` with one of these is spoken to in it. */
export const UPSTREAM_SESSION_REVISIONS: readonly string[] = [
  ...SESSION_REVISIONS,
  '2025-03-26',
  '2024-11-05',
]

/** With and without sessions: see docs/decisions/mcp.md, "Two eras of the protocol". */
export type Era = 'modern' | 'session'

const META = 'io.modelcontextprotocol/'
export const PROTOCOL_VERSION = `${META}protocolVersion`
export const CLIENT_CAPABILITIES = `${META}clientCapabilities`
export const CLIENT_INFO = `${META}clientInfo`
export const LOG_LEVEL = `${META}logLevel`
export const SERVER_INFO = `${META}serverInfo`
export const SUBSCRIPTION_ID = `${META}subscriptionId`

export type RpcId = string | number

export const LOG_LEVELS: readonly string[] = [
  ...['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'],
]

/** Codes of JSON-RPC and of the protocol. */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** For errors of ours: `data.code` tells them apart. */
  refused: -32000,
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitationRequired: -32042,
} as const

/** The error of a JSON-RPC response. */
export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Thrown for a message that the protocol refuses. */
export class RpcError extends Error {
  readonly code: number
  readonly data: JsonObject | undefined
  /** The HTTP status of the response. */
  readonly status: number

  constructor(
    code: number,
    message: string,
    { data, status = 200 }: { data?: JsonObject; status?: number } = {},
  ) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

export function isRpcId(value: unknown): value is RpcId {
  return (typeof value === 'string' && value.length <= 1024) || Number.isSafeInteger(value)
}

/** Returns the object, or an empty one for anything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/

/** Encodes a text for a header: as it is if it is visible ASCII, else in the protocol's base64 form. */
export function encodeHeaderText(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

export function decodeHeaderText(text: string): string {
  const [, encoded] = BASE64.exec(text) ?? []
  return encoded === undefined ? text : Buffer.from(encoded, 'base64').toString()
}

/** The value of the header `Mcp-Name` that belongs to a request; undefined for methods without it. */
export function nameOfRequest(method: string, params: JsonObject): string | undefined {
  const value = method === 'resources/read' ? params.uri : params.name
  const hasName = method === 'tools/call' || method === 'prompts/get' || method === 'resources/read'
  return hasName && typeof value === 'string' ? value : undefined
}

const PARAMETER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * The headers `Mcp-Param-…` of a call, for arguments whose schema asks for them with `x-mcp-header`. They are
 * built from the arguments that are sent, never copied from the caller.
 */
export function parameterHeaders(inputSchema: unknown, args: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  const visit = (schema: unknown, value: unknown, depth: number): void => {
    if (!isJsonObject(schema) || depth > 8) return
    for (const [name, field] of Object.entries(objectOf(schema.properties))) {
      const inner = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
      const header = objectOf(field)['x-mcp-header']
      const isScalar = typeof inner === 'string' || typeof inner === 'boolean' || Number.isInteger(inner)
      if (typeof header === 'string' && PARAMETER_NAME.test(header) && isScalar)
        headers[`mcp-param-${header.toLowerCase()}`] = encodeHeaderText(String(inner))
      if (isJsonObject(inner)) visit(field, inner, depth + 1)
    }
  }
  visit(inputSchema, args, 0)
  return headers
}

/** The names of these headers. */
export function parameterHeaderNames(inputSchema: unknown, depth = 0): readonly string[] {
  if (depth > 8) return []
  return Object.values(objectOf(objectOf(inputSchema).properties)).flatMap((field) => {
    const header = objectOf(field)['x-mcp-header']
    const own = typeof header === 'string' && PARAMETER_NAME.test(header) ? [header] : []
    return [
      ...own.map((name) => `mcp-param-${name.toLowerCase()}`),
      ...parameterHeaderNames(field, depth + 1),
    ]
  })
}
