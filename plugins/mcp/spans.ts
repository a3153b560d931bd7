import {
  type EndpointCall,
  type EndpointResponse,
  GatewayError,
  type RuleTraceEntry,
} from '../../core/contract/index.ts'
import type { OpenTrace, SpanAttributes, Tracer } from '../tracing/index.ts'
import type { ClientMessage } from './front/message.ts'
import { MODERN_REVISION, objectOf, RpcError } from './protocol.ts'
import type { ClientTrace, SentSpan, UpstreamMessage } from './upstream/upstream.ts'

/** Methods that a span names. The method of a request is the caller's text. */
const METHODS = new Set([
  ...['initialize', 'ping', 'logging/setLevel', 'server/discover', 'subscriptions/listen'],
  ...['tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'completion/complete'],
  ...['resources/list', 'resources/templates/list', 'resources/read'],
])

/** The conventions' name for what is none of the known values. */
const OTHER = '_OTHER'

const MAX_ID_CHARS = 64

/** More applied rules of one call are left out. */
const MAX_RULES = 32

/**
 * The spans of a request of a client, by OpenTelemetry's conventions for MCP. See docs/decisions/tracing.md,
 * "Spans of tool calls follow the conventions for MCP".
 */
export class RequestTrace implements ClientTrace {
  readonly #trace: OpenTrace
  #attributes: SpanAttributes
  #hasEnded = false

  constructor(trace: OpenTrace, attributes: SpanAttributes) {
    this.#trace = trace
    this.#attributes = attributes
  }

  note(attributes: SpanAttributes): void {
    if (this.#trace.isSampled) this.#attributes = { ...this.#attributes, ...attributes }
  }

  noteRules(rules: readonly RuleTraceEntry[]): void {
    const applied = rules.filter(({ outcome }) => outcome === 'applied').slice(0, MAX_RULES)
    this.note({
      'signalbox.rules.applied': applied.map(({ kind, rule_id, action }) => `${kind}:${rule_id}:${action}`),
    })
  }

  /** `code`: that of the JSON-RPC error which the client gets. */
  fail(error: unknown, code: number | undefined, isAborted: boolean): void {
    this.note({ ...errorAttributes(error, isAborted), 'rpc.response.status_code': code && String(code) })
  }

  startCall(server: string, url: string | undefined, { method, params }: UpstreamMessage): SentSpan {
    const { hostname, port, protocol } = url === undefined ? NO_URL : new URL(url)
    const attributes = {
      ...methodAttributes(method),
      // A call that is sent is of a tool with a known definition.
      'gen_ai.tool.name': method === 'tools/call' ? String(params.name) : undefined,
      'network.transport': url === undefined ? 'pipe' : 'tcp',
      'network.protocol.name': url === undefined ? undefined : 'http',
      'server.address': hostname,
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : port && Number(port),
      'signalbox.tool.server': server,
    }
    const call = this.#trace.startCall(nameOf(attributes), attributes)
    let built: SpanAttributes = {}
    const end = (more: SpanAttributes) => call.end({ ...built, ...more }, more['error.type'] !== undefined)
    return {
      fields: call.fields,
      describe(id, revision) {
        built = { 'jsonrpc.request.id': id, 'mcp.protocol.version': revision }
      },
      end: (code) => end(code === undefined ? {} : codeAttributes(code)),
      fail: (error, isAborted) => end(errorAttributes(error, isAborted)),
    }
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const attributes = this.#attributes
    this.#trace.end(nameOf(attributes), attributes, attributes['error.type'] !== undefined)
  }

  /** Ends the trace with the response. */
  endWith(response: EndpointResponse): EndpointResponse {
    const { stream } = response
    if (stream !== undefined) return { ...response, stream: this.#until(stream) }
    this.end()
    return response
  }

  async *#until(stream: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
    try {
      yield* stream
    } finally {
      this.end()
    }
  }
}

const NO_URL = { hostname: undefined, port: undefined, protocol: undefined }

/** Starts the trace of a request. */
export function startRequestTrace(
  tracer: Tracer,
  { requestId, headers, account }: Pick<EndpointCall<{ type: 'user' }>, 'requestId' | 'headers' | 'account'>,
  { id, method, params }: ClientMessage & { readonly type: 'request' },
): RequestTrace {
  const trace = tracer.start(headers, objectOf(params._meta), performance.now())
  return new RequestTrace(trace, {
    ...methodAttributes(METHODS.has(method) ? method : OTHER),
    'jsonrpc.request.id': String(id).length > MAX_ID_CHARS ? undefined : String(id),
    'mcp.protocol.version': MODERN_REVISION,
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'signalbox.request.id': requestId,
    'signalbox.user.id': account.userId,
  })
}

function methodAttributes(method: string): SpanAttributes {
  return {
    'mcp.method.name': method,
    'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
  }
}

function nameOf(attributes: SpanAttributes): string {
  const target = attributes['gen_ai.tool.name'] ?? attributes['gen_ai.prompt.name']
  const method = String(attributes['mcp.method.name'])
  return target === undefined ? method : `${method} ${target}`
}

function codeAttributes(code: number): SpanAttributes {
  return { 'error.type': String(code), 'rpc.response.status_code': String(code) }
}

/** No text of an error: it can quote the request. */
function errorAttributes(error: unknown, isAborted: boolean): SpanAttributes {
  if (error instanceof RpcError) return codeAttributes(error.code)
  if (GatewayError.isInstance(error)) return { 'error.type': error.code }
  return { 'error.type': isAborted ? 'cancelled' : OTHER }
}
