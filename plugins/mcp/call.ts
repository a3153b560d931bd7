import {
  GatewayError,
  type JsonObject,
  type RuleTraceEntry,
  type Warning,
} from '../../core/contract/index.ts'
import { parseJson } from '../../core/util/json.ts'
import { digestOfArguments } from '../../core/util/tool-arguments.ts'
import type { ToolCallRecord } from '../ledger/index.ts'
import type { ToolCaller, ToolVerdict } from '../tool-rules/index.ts'
import type { ServedTool, ToolServer, Unserved } from './catalog.ts'
import { type CallKind, decideCall, nameForRules } from './decide.ts'
import { mcpError } from './errors.ts'
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  objectOf,
  PROTOCOL_VERSION,
  parameterHeaders,
  type RpcErrorObject,
} from './protocol.ts'
import { createServerTime } from './server-time.ts'
import type { Deciders } from './services.ts'
import type { RequestTrace } from './spans.ts'
import { type Bytes, type Outcome, type ResultBody, textResult } from './upstream/envelope.ts'
import type { Upstreams } from './upstream/servers.ts'
import type { ClientAnswer, UpstreamContext, UpstreamMessage } from './upstream/upstream.ts'

/** A call of a tool, or of a prompt or resource. */
export interface PreparedCall {
  /** `req_…` */
  readonly id: string
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  readonly caller: ToolCaller
  readonly rulesPosition: number
  /** The position from which on neither the rules nor any tool server have changed. */
  readonly decidedAt: number
  /** Which calls belong together, as the caller says. */
  readonly sessionId: string | undefined
  /** Servers whose results the session has read. */
  readonly read: ReadonlySet<string>
  readonly server: ToolServer
  readonly kind: CallKind
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string
  /** The definition that is served, or why none is. Of tools only. */
  readonly definition: ServedTool | Unserved | undefined
  /** What kept the gateway from listing the tools of the server. */
  readonly unlisted?: { readonly error: unknown } | undefined
  readonly message: UpstreamMessage
  /** The arguments of a prompt or resource that are to be completed. Nothing is called, nor approved. */
  readonly completes?: JsonObject
  readonly context: UpstreamContext
  readonly trace: RequestTrace | undefined
  /** Records that the session reads a result of the server, before it does. */
  noteRead(): Promise<void>
}

interface CallServices {
  readonly upstreams: Pick<Upstreams, 'request'>
  readonly deciders: Deciders
  readonly limits: { readonly max_inspected_bytes: number }
}

/** What is known of a call so far, for its record. */
interface CallNotes {
  /** The arguments as they were received; undefined if there are none. */
  readonly argumentsText: string | undefined
  readonly argumentsDigest: string
  /** The arguments that may be sent; undefined until that is decided. */
  sentArguments?: string | undefined
  verdict: ToolCallRecord['verdict']
  revision?: number
  trace: RuleTraceEntry[]
  warnings: Warning[]
  upstreamMs: number
}

/**
 * Makes one call: decides whether it may be made, sends it, inspects what goes out and comes back, and
 * records it. Rejects with the error for the caller.
 */
export async function callTool(services: CallServices, call: PreparedCall): Promise<Outcome> {
  const { completes, message: received } = call
  const args = completes ?? objectOf(received.params.arguments)
  const argumentsText = completes ? JSON.stringify(completes) : received.argumentsText
  const notes: CallNotes = {
    ...{ argumentsText, argumentsDigest: digestOfArguments(args, argumentsText) },
    ...{ verdict: 'allowed', trace: [], warnings: [], upstreamMs: 0 },
  }
  const record = (resultBytes: number, errorCode?: string) =>
    recordCall(services, call, notes, resultBytes, errorCode)
  const { definition } = call
  if (typeof definition === 'object') notes.revision = definition.revision
  try {
    if (call.unlisted !== undefined) throw call.unlisted.error
    const decision = await decideCall(services.deciders, {
      ...call,
      arguments: args,
      argumentsText,
    })
    notes.trace.push(...decision.trace)
    notes.warnings.push(...decision.warnings)
    // See docs/decisions/limits.md, "Calls of tools count once rules let them pass".
    if (decision.error === undefined) await services.deciders.callLimit?.take(call.caller.account)
    notes.verdict = decision.verdict
    if (decision.error !== undefined) throw decision.error
    notes.sentArguments = decision.argumentsText ?? '{}'
    const message = completes ? received : toSent(call, decision.argumentsText)
    if (decision.verdict === 'pending_approval' && completes)
      throw mcpError('approval_required', `${call.name} is not completed, because it needs an approval.`)
    if (decision.verdict === 'pending_approval')
      await requireApproval(services, call, decision.rule, message, notes)
    const outcome = await send(services, call, message, notes)
    if ('error' in outcome) {
      const error = await inspectError(services, call, outcome.error, notes)
      await call.noteRead()
      notes.verdict = 'failed'
      record(0, SERVER_ERROR)
      return { error }
    }
    const result = await inspectResult(services, call, outcome.result, notes)
    await call.noteRead()
    return { result: recordedResult(call, result, record) }
  } catch (error) {
    if (notes.verdict === 'allowed' || notes.verdict === 'approved') notes.verdict = 'failed'
    record(0, codeOf(error, call))
    throw error
  }
}

/** The codes of errors that are the server's own: in a response, and in a result of a tool. */
const SERVER_ERROR = 'tool_server_error'
const TOOL_ERROR = 'tool_error'

function codeOf(error: unknown, { context }: PreparedCall): string {
  if (GatewayError.isInstance(error)) return error.code
  return context.signal.aborted ? 'cancelled' : 'internal_error'
}

/** Returns the message with the arguments that may be sent. */
function toSent({ message, definition }: PreparedCall, argumentsText: string | undefined): UpstreamMessage {
  const isSame = argumentsText === undefined || argumentsText === message.argumentsText
  const sent = isSame
    ? message
    : { ...message, argumentsText, params: { ...message.params, arguments: JSON.parse(argumentsText) } }
  if (typeof definition !== 'object') return sent
  return { ...sent, headers: parameterHeaders(definition.definition.inputSchema, sent.params.arguments) }
}

async function inspect(
  firewall: NonNullable<Deciders['firewall']>,
  caller: ToolCaller,
  scope: 'tool_call' | 'tool_result',
  json: string,
  notes: CallNotes,
): Promise<string> {
  try {
    return (await firewall.inspect(caller, scope, json, notes)).json
  } catch (error) {
    notes.verdict = 'blocked'
    throw error
  }
}

/** An approval is for exactly these arguments, under these rules, and once. */
async function requireApproval(
  { deciders: { approvals } }: CallServices,
  { id, caller, sessionId, server, kind, name, rulesPosition }: PreparedCall,
  rule: ToolVerdict['rule'],
  message: UpstreamMessage,
  notes: CallNotes,
): Promise<void> {
  if (approvals === undefined || rule === undefined)
    throw mcpError('approval_required', `The call of ${name} needs an approval, and nobody can give one.`)
  const {
    status,
    id: approvalId,
    expiresAt,
  } = await approvals.claim({
    account: caller.account,
    requestId: id,
    sessionId,
    server: server.name,
    tool: nameForRules(kind, name),
    argumentsDigest: notes.argumentsDigest,
    rulesPosition,
    rule: { id: rule.id, name: rule.name },
    arguments: objectOf(message.params.arguments),
  })
  if (status === 'granted') {
    notes.verdict = 'approved'
    return
  }
  const meta = { approval_id: approvalId, expires_at: expiresAt }
  if (status === 'denied') {
    notes.verdict = 'denied'
    throw mcpError('approval_denied', `The call of ${name} was not approved.`, { meta })
  }
  const text = `An operator must approve the call of ${name} (${approvalId}). Then call it again, unchanged.`
  throw mcpError('approval_required', text, { meta })
}

async function send(
  services: CallServices,
  call: PreparedCall,
  message: UpstreamMessage,
  notes: CallNotes,
): Promise<Outcome> {
  const time = createServerTime()
  try {
    const { context, settled } = inspectConversation(services, call, notes)
    const inspected = await inspectRest(services, call, message, notes)
    const outcome = await services.upstreams.request(call.server, inspected, time.watch(context))
    await settled()
    return outcome
  } finally {
    notes.upstreamMs = time.elapsed()
  }
}

/** Whoever answers a call with a stream of notices gets no more of them inspected at a time. */
const MAX_WAITING_NOTICES = 100

/**
 * What server and client say to each other during the call is inspected like results and arguments, and
 * counts as read.
 */
function inspectConversation(
  { deciders: { firewall } }: CallServices,
  { caller, context, noteRead }: PreparedCall,
  notes: CallNotes,
): { readonly context: UpstreamContext; settled(): Promise<void> } {
  const { onRequest, onNotification } = context
  const read = async (scope: 'tool_call' | 'tool_result', value: unknown) =>
    firewall?.applies(caller, scope)
      ? JSON.parse(await inspect(firewall, caller, scope, JSON.stringify(value), notes))
      : value
  let last: Promise<void> = Promise.resolve()
  let waiting = 0
  return {
    context: {
      ...context,
      ...(onRequest && {
        async onRequest(method: string, params: JsonObject): Promise<ClientAnswer> {
          const asked = await read('tool_result', params)
          await noteRead()
          const answer = await onRequest(method, asked)
          return 'result' in answer ? { result: await read('tool_call', answer.result) } : answer
        },
      }),
      ...(onNotification && {
        onNotification(method: string, params: JsonObject) {
          if (waiting >= MAX_WAITING_NOTICES) return
          waiting++
          last = last
            .then(async () => {
              const masked = await read('tool_result', params)
              await noteRead()
              onNotification(method, masked)
            })
            .catch(() => undefined)
            .finally(() => waiting--)
        },
      }),
    },
    settled: () => last,
  }
}

/** Members of requests whose values are the caller's, and whose names are the protocol's. */
const NAMED = ['uri', 'ref', 'argument', 'context', 'inputResponses', 'requestState'] as const
const INSPECTED_ELSEWHERE = new Set<string>(['name', 'arguments', '_meta', ...NAMED])

/** The gateway writes these itself. */
const OWN_META = new Set(['progressToken', PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL])

/** What a request has besides its arguments is inspected like them, because a server may read it. */
async function inspectRest(
  { deciders: { firewall } }: CallServices,
  { caller }: PreparedCall,
  message: UpstreamMessage,
  notes: CallNotes,
): Promise<UpstreamMessage> {
  if (!firewall?.applies(caller, 'tool_call')) return message
  const { params } = message
  const meta = Object.entries(objectOf(params._meta))
  const unknown = Object.entries(params).filter(([name]) => !INSPECTED_ELSEWHERE.has(name))
  const named = NAMED.filter((name) => params[name] !== undefined)
  const values = [
    Object.fromEntries(meta.filter(([name]) => !OWN_META.has(name))),
    Object.fromEntries(unknown),
    ...named.map((name) => params[name]),
  ]
  if (values.length === 2 && values.every((value) => Object.keys(value as object).length === 0))
    return message
  const [maskedMeta, maskedUnknown, ...masked] = JSON.parse(
    await inspect(firewall, caller, 'tool_call', JSON.stringify(values), notes),
  )
  const own = meta.filter(([name]) => OWN_META.has(name))
  const kept = Object.entries(params).filter(([name]) => name === 'name' || name === 'arguments')
  return {
    ...message,
    params: {
      ...Object.fromEntries([...kept, ...named.map((name, index) => [name, masked[index]])]),
      ...maskedUnknown,
      ...(params._meta !== undefined && { _meta: { ...Object.fromEntries(own), ...maskedMeta } }),
    },
  }
}

/** An error has texts of the server like a result. */
async function inspectError(
  { deciders: { firewall }, limits }: CallServices,
  { caller }: PreparedCall,
  { code, ...texts }: RpcErrorObject,
  notes: CallNotes,
): Promise<RpcErrorObject> {
  if (!firewall?.applies(caller, 'tool_result')) return { code, ...texts }
  const json = await textResult(JSON.stringify([texts.message, texts.data])).text(limits.max_inspected_bytes)
  const [message, data] = JSON.parse(await inspect(firewall, caller, 'tool_result', json, notes))
  return { code, message, ...(texts.data !== undefined && { data }) }
}

/** A result that nobody inspects is passed on as it arrives. */
async function inspectResult(
  { deciders: { firewall }, limits }: CallServices,
  { caller }: PreparedCall,
  result: ResultBody,
  notes: CallNotes,
): Promise<ResultBody> {
  if (firewall === undefined || !firewall.applies(caller, 'tool_result')) return result
  const json = await result.text(limits.max_inspected_bytes)
  return textResult(await inspect(firewall, caller, 'tool_result', json, notes))
}

/** Records the call once its result was sent. */
function recordedResult(
  call: PreparedCall,
  result: ResultBody,
  record: (bytes: number, errorCode?: string) => void,
): ResultBody {
  async function* message(id: string, members: string): Bytes {
    let bytes = 0
    try {
      for await (const chunk of result.message(id, members)) {
        bytes += chunk.length
        yield chunk
      }
    } finally {
      record(bytes)
    }
  }
  return {
    message,
    isShort: (maxBytes) => result.isShort(maxBytes),
    async text(maxBytes) {
      const json = await result.text(maxBytes).catch((error: unknown) => {
        record(0, codeOf(error, call))
        throw error
      })
      record(json.length, isToolError(json) ? TOOL_ERROR : undefined)
      return json
    },
  }
}

/** Whether a tool says that it has failed. Most results are not parsed for it. */
function isToolError(json: string): boolean {
  return json.includes('"isError"') && objectOf(parseJson(json)).isError === true
}

function recordCall(
  { deciders: { ledger } }: CallServices,
  call: PreparedCall,
  notes: CallNotes,
  resultBytes: number,
  errorCode: string | undefined,
): void {
  call.trace?.noteRules(notes.trace)
  call.trace?.note({
    'signalbox.tool.verdict': notes.verdict,
    'signalbox.rules.position': call.decidedAt,
    'error.type': errorCode,
  })
  if (ledger === undefined) return
  const { id, caller, sessionId, server, kind, name, startedAt } = call
  const { argumentsText = '' } = notes
  const durationMs = performance.now() - startedAt
  const record: ToolCallRecord = {
    id,
    time: new Date(Date.now() - durationMs).toISOString(),
    userId: caller.account.userId,
    keyId: caller.account.keyId,
    ...(sessionId !== undefined && { sessionId }),
    server: server.name,
    tool: nameForRules(kind, name),
    ...(notes.revision !== undefined && { revision: notes.revision }),
    argumentsDigest: notes.argumentsDigest,
    verdict: notes.verdict,
    ...(errorCode !== undefined && { errorCode }),
    rules: notes.trace.map(({ kind: ruleKind, rule_id, name: ruleName, action, origin }) => ({
      ...{ kind: ruleKind, id: rule_id, name: ruleName, action },
      ...(origin !== undefined && { origin }),
    })),
    warnings: notes.warnings,
    requestBytes: argumentsText.length,
    resultBytes,
    durationMs,
    upstreamMs: notes.upstreamMs,
    rulesPosition: call.decidedAt,
    read: [...call.read],
  }
  ledger.record(record, { received: argumentsText || '{}', sent: notes.sentArguments })
}
