import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import {
  countNames,
  countValues,
  countWrittenNames,
  hasMoreValues,
  MAX_JSON_DEPTH,
} from '../../../core/util/json.ts'
import {
  CLIENT_CAPABILITIES,
  decodeHeaderText,
  isRpcId,
  LOG_LEVEL,
  LOG_LEVELS,
  MODERN_REVISION,
  nameOfRequest,
  objectOf,
  PROTOCOL_VERSION,
  RPC,
  RpcError,
  type RpcId,
  SUPPORTED_REVISIONS,
} from '../protocol.ts'

/** A message of a client. */
export type ClientMessage =
  | {
      readonly type: 'request'
      readonly id: RpcId
      readonly method: string
      readonly params: JsonObject
      /** The JSON text of `params.arguments`. */
      readonly argumentsText: string | undefined
    }
  | { readonly type: 'notification'; readonly method: string; readonly params: JsonObject }
  /** The answer to a request of the server. */
  | { readonly type: 'response'; readonly id: RpcId; readonly message: JsonObject }

/** Fields and items of a message, at all levels. */
const MAX_VALUES = 200_000

const BAD_REQUEST = { status: 400 }

/**
 * Parses a message. Throws the protocol's errors. See docs/decisions/mcp.md, "A message has one
 * meaning".
 */
export function parseClientMessage(bytes: Buffer): ClientMessage {
  const text = bytes.toString()
  const message = parseObject(bytes, text)
  const { jsonrpc, id, method, params } = message
  if (jsonrpc !== '2.0') throw invalidRequest('The message must have "jsonrpc": "2.0".')
  if (id !== undefined && !isRpcId(id)) throw invalidRequest('The id must be a string or an integer.')
  if (method === undefined) {
    if (id === undefined || (message.result === undefined && !isJsonObject(message.error)))
      throw invalidRequest('The message must have a method, or an id and a result or error.')
    return { type: 'response', id, message }
  }
  if (typeof method !== 'string') throw invalidRequest('The method must be a string.')
  if (params !== undefined && !isJsonObject(params)) throw invalidRequest('The params must be an object.')
  if (id === undefined) return { type: 'notification', method, params: params ?? {} }
  const argumentsText = params?.arguments === undefined ? undefined : findArguments(text, params.arguments)
  return { type: 'request', id, method, params: params ?? {}, argumentsText }
}

function parseObject(bytes: Buffer, text: string): JsonObject {
  if (hasMoreValues(bytes, MAX_VALUES))
    throw invalidRequest(`The message has more than ${MAX_VALUES} values.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new RpcError(RPC.parse, 'The request body is not valid JSON.', BAD_REQUEST)
  }
  if (Array.isArray(value))
    throw invalidRequest('Batches are not supported. Send one message in each request.')
  if (!isJsonObject(value)) throw invalidRequest('The request body must be a JSON object.')
  if (countValues(value) === Number.POSITIVE_INFINITY)
    throw invalidRequest(`The message is nested more than ${MAX_JSON_DEPTH} levels deep.`)
  // Rules would see the last of two fields with a name, and the server perhaps the first.
  if (countNames(value) !== countWrittenNames(bytes))
    throw invalidRequest('An object of the message has a name twice.')
  return value
}

/** Returns the text of the arguments, so that numbers and escapes reach the server as they are. */
function findArguments(text: string, value: unknown): string {
  const written = JSON.stringify(value)
  const start = text.lastIndexOf(written)
  // Nothing is lost if the text is what would be written.
  return start !== -1 ? written : (sliceArguments(text, value) ?? written)
}

/** Finds the member by its depth: `{"params":{"arguments":…}}`. */
function sliceArguments(text: string, value: unknown): string | undefined {
  const names: string[] = []
  let start = -1
  for (const match of text.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:\s*)?|[{}[\]]/g)) {
    const [token, name, colon] = match
    if (name !== undefined && colon !== undefined) names[names.length - 1] = name
    else if (token === '{' || token === '[') {
      const isArguments = names.length === 2 && names[0] === 'params' && names[1] === 'arguments'
      if (isArguments) start = match.index
      names.push('')
    } else if (token === '}' || token === ']') {
      names.pop()
      if (start !== -1 && names.length === 2) return checkSlice(text.slice(start, match.index + 1), value)
    }
  }
  return undefined
}

function checkSlice(slice: string, value: unknown): string | undefined {
  return JSON.stringify(JSON.parse(slice)) === JSON.stringify(value) ? slice : undefined
}

function invalidRequest(message: string): RpcError {
  return new RpcError(RPC.invalidRequest, message, BAD_REQUEST)
}

/** What a request without a session says of its client. */
export interface ModernRequest {
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  readonly logLevel: string | undefined
}

/** Whether a message is of the revision without sessions, or of a later one. */
export function isModern(message: ClientMessage, headers: IncomingHttpHeaders): boolean {
  if (message.type !== 'response' && objectOf(message.params._meta)[PROTOCOL_VERSION] !== undefined)
    return true
  const version = headerOf(headers, 'mcp-protocol-version')
  return version !== undefined && version >= MODERN_REVISION && /^\d{4}-\d\d-\d\d$/.test(version)
}

/** Checks that headers and body of a request say the same. Throws the protocol's errors. */
export function checkModernRequest(
  { method, params }: { readonly method: string; readonly params: JsonObject },
  headers: IncomingHttpHeaders,
): ModernRequest {
  const meta = objectOf(params._meta)
  const version = headerOf(headers, 'mcp-protocol-version')
  const requested = meta[PROTOCOL_VERSION]
  if (requested === undefined) throw invalidParams(`params._meta must have "${PROTOCOL_VERSION}".`)
  if (version !== requested) throw mismatch('MCP-Protocol-Version', version, String(requested))
  if (requested !== MODERN_REVISION) throw unsupportedVersion(String(requested))
  if (headerOf(headers, 'mcp-method') !== method)
    throw mismatch('Mcp-Method', headerOf(headers, 'mcp-method'), method)
  const name = nameOfRequest(method, params)
  const given = headerOf(headers, 'mcp-name')
  if (name !== undefined && (given === undefined || decodeHeaderText(given) !== name))
    throw mismatch('Mcp-Name', given, name)
  const capabilities = meta[CLIENT_CAPABILITIES]
  if (!isJsonObject(capabilities)) throw invalidParams(`params._meta must have "${CLIENT_CAPABILITIES}".`)
  const logLevel = meta[LOG_LEVEL]
  if (logLevel !== undefined && !LOG_LEVELS.includes(String(logLevel)))
    throw invalidParams(`"${LOG_LEVEL}" must be one of: ${LOG_LEVELS.join(', ')}.`)
  const info = meta['io.modelcontextprotocol/clientInfo']
  return {
    capabilities,
    clientInfo: isJsonObject(info) ? info : undefined,
    logLevel: logLevel === undefined ? undefined : String(logLevel),
  }
}

export function unsupportedVersion(requested: string): RpcError {
  const message = `The revision ${requested} is not supported. Use one of: ${SUPPORTED_REVISIONS.join(', ')}.`
  return new RpcError(RPC.unsupportedVersion, message, {
    data: { supported: SUPPORTED_REVISIONS, requested },
    status: 400,
  })
}

function mismatch(header: string, value: string | undefined, expected: string): RpcError {
  const found = value === undefined ? 'is missing' : `is "${value}"`
  const message = `The header ${header} ${found}, but must be "${expected}" as in the body.`
  return new RpcError(RPC.headerMismatch, message, BAD_REQUEST)
}

function invalidParams(message: string): RpcError {
  return new RpcError(RPC.invalidParams, message, BAD_REQUEST)
}

export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}
