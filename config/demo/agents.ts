import { type Account, type Author, GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { type CallerSource, rulesPositionOf } from '../../core/pipeline/inference.ts'
import type { Random } from '../../core/util/random.ts'
import { createApprovalClaims } from '../../plugins/approvals/claim.ts'
import { decideAboutApproval } from '../../plugins/approvals/endpoints.ts'
import type { Approvals } from '../../plugins/approvals/index.ts'
import type { ToolCallLedger } from '../../plugins/ledger/index.ts'
import type { NewToolCall } from '../../plugins/ledger/store/tool-calls.ts'
import type { RecordPrompts } from '../../plugins/ledger/to-record.ts'
import { callTool } from '../../plugins/mcp/call.ts'
import { mcpError } from '../../plugins/mcp/errors.ts'
import { RpcError } from '../../plugins/mcp/protocol.ts'
import { selectRevision } from '../../plugins/mcp/servers/observe.ts'
import { createToolServerState } from '../../plugins/mcp/servers/state.ts'
import type { Deciders } from '../../plugins/mcp/services.ts'
import { type Outcome, textResult } from '../../plugins/mcp/upstream/envelope.ts'
import type { OpenState } from '../gateway/state.ts'
import { DEMO_TOOL_SERVERS } from './tool-servers.ts'
import { demoRequestId } from './traffic.ts'
import { DEMO_OPERATORS, type DemoUser } from './users.ts'

interface AgentServices extends Pick<OpenState, 'approvals' | 'groups' | 'toolServers' | 'writer'> {
  readonly callers: CallerSource
  readonly deciders: Pick<Deciders, 'rules' | 'firewall'>
  readonly recordPrompts: RecordPrompts
  now(): number
  /** The end of the period. */
  readonly end: number
  /** Runs something at a later time of the period. */
  later(delayMs: number, run: () => Promise<unknown>): void
  authorOf(operator: string, reason: string): Author
}

/** What an agent does until its user has a break. */
export interface DemoSession {
  readonly id: string
  readonly account: Account
  /** The servers whose results it has read. */
  readonly read: Set<string>
  lastActiveAt: number
}

const MINUTE_MS = 60_000

/** A session ends after this time without a request. */
const BREAK_MS = 25 * MINUTE_MS

/** How often agents make requests in a session, and begin one, in relation to the share of their user. */
const IN_SESSION = 3
const BEGINS = 0.3

/** Calls after a request. */
const CALLS = [
  { share: 40, count: 0 },
  { share: 30, count: 1 },
  { share: 20, count: 2 },
  { share: 10, count: 4 },
] as const

/** What servers answer. */
const ANSWERS = [
  { share: 95, answer: 'result' },
  { share: 2.5, answer: 'tool_error' },
  { share: 1.5, answer: 'error' },
  { share: 1, answer: 'timeout' },
] as const
const TIMEOUT_MS = 60_000
/** Verdicts about calls that servers get. */
const SENT: ReadonlySet<string> = new Set(['allowed', 'approved', 'failed'])

/** What operators say about calls that wait, in turn; of some, they do not hear in time. */
const DECISIONS = [
  { verb: 'grant', reason: 'The change is reviewed' },
  { verb: 'deny', reason: 'The tests of the branch fail' },
  { verb: 'grant', reason: 'Agreed with the team' },
  { verb: undefined },
  { verb: 'grant', reason: 'The change is reviewed' },
] as const
const [{ name: ADMIN }, { name: EDITOR }] = DEMO_OPERATORS
const EXPIRE_AFTER_SECONDS = 86_400
const USABLE_FOR_SECONDS = 900

const LIMITS = { max_inspected_bytes: 1024 * 1024 }

const TOOLS = DEMO_TOOL_SERVERS.flatMap(({ name: server, tools }) =>
  tools.map((tool) => ({ ...tool, server })),
)

interface AgentCall {
  readonly session: DemoSession
  readonly tool: (typeof TOOLS)[number]
  readonly arguments: JsonObject
}

/**
 * The agents of users: the sessions that their requests belong to, and the tools that they call. Calls pass
 * the code of live ones under the rules of that time; only what servers answer is made up.
 */
export class DemoAgents {
  /** Calls so far, for the ledger. */
  readonly calls: NewToolCall[] = []
  readonly #services: AgentServices
  /** How many calls have waited. */
  #asked = 0
  readonly #random: Random
  /** The last session of each user. */
  readonly #sessions = new Map<string, DemoSession>()

  constructor(services: AgentServices, random: Random) {
    this.#services = services
    this.#random = random
  }

  /** Returns the share of a user in the requests that are made now. */
  shareOf({ name, share, sessionHeader }: DemoUser): number {
    if (sessionHeader === undefined) return share
    return share * (this.#currentSession(name) === undefined ? BEGINS : IN_SESSION)
  }

  /** Returns the session of a request that a user makes now. */
  sessionOf({ name }: DemoUser, account: Account): DemoSession {
    const session = this.#currentSession(name) ?? {
      ...{ id: createUuid(this.#random), account, read: new Set<string>(), lastActiveAt: 0 },
    }
    session.lastActiveAt = this.#services.now()
    this.#sessions.set(name, session)
    return session
  }

  #currentSession(user: string): DemoSession | undefined {
    const session = this.#sessions.get(user)
    return session && this.#services.now() - session.lastActiveAt < BREAK_MS ? session : undefined
  }

  /** Calls tools once a model has replied. */
  useTools(session: DemoSession, latencyMs: number): void {
    const { toolServers, later } = this.#services
    const known = TOOLS.filter(({ server }) => toolServers.named(server) !== undefined)
    if (known.length === 0) return
    let delayMs = latencyMs
    for (let left = this.#random.weighted(CALLS).count; left > 0; left--) {
      const tool = this.#random.weighted(known)
      const call = { session, tool, arguments: this.#random.pick(tool.calls) }
      delayMs += 400 + this.#random.integer(6000)
      later(delayMs, () => this.#call(call))
    }
  }

  async #call(call: AgentCall): Promise<void> {
    const { callers, toolServers, deciders, now } = this.#services
    const { session, tool, arguments: args } = call
    const { account, read } = session
    const servers = createToolServerState(toolServers)
    const server = servers.find(tool.server)
    if (server === undefined) return
    const pinned = servers.toolsOf(server.id).get(tool.name)
    const listed = pinned?.revisions.at(-1)
    const definition =
      listed === undefined
        ? 'unknown'
        : selectRevision(server, pinned, { ...listed, name: tool.name, definition: listed.definition ?? {} })
    const caller = { ...callers.snapshot(account), client: NO_CLIENT }
    const rulesPosition = rulesPositionOf(caller)
    const argumentsText = JSON.stringify(args)
    const { answer } = this.#random.weighted(ANSWERS)
    const upstreamMs = answer === 'timeout' ? TIMEOUT_MS : Math.round(tool.ms * this.#random.spread())
    const { signal } = NO_CLIENT
    const approvals = this.#claims(call)
    const ledger = this.#ledger(tool.bytes * this.#random.spread(), upstreamMs)
    const services = {
      upstreams: { request: async () => makeAnswer(tool.name, answer) },
      deciders: { ...deciders, callLimit: undefined, approvals, ledger },
      limits: LIMITS,
    }
    const outcome = await callTool(services, {
      ...{ id: demoRequestId(now(), this.#random), startedAt: performance.now(), caller, rulesPosition },
      ...{ decidedAt: Math.max(rulesPosition, toolServers.position()), sessionId: session.id, read },
      ...{ server, kind: 'tool', name: tool.name, definition, trace: undefined },
      message: { method: 'tools/call', params: { name: tool.name, arguments: args }, argumentsText },
      context: { caller: account, session: { key: '', capabilities: {} }, capabilities: {}, signal },
      noteRead: async () => void read.add(server.name),
    }).catch(ignoreRefusal)
    // A call is recorded once its result is read.
    if (outcome && 'result' in outcome) await outcome.result.text(LIMITS.max_inspected_bytes)
  }

  #claims(call: AgentCall): Approvals {
    return createApprovalClaims({
      ...this.#services,
      store: { set: async () => undefined },
      expireAfterSeconds: EXPIRE_AFTER_SECONDS,
      maxPendingPerUser: 50,
      onRequested: ({ id }) => this.#decideLater(id, call),
    })
  }

  /** Has an operator decide, and the agent call again. */
  #decideLater(id: string, call: AgentCall): void {
    const { now, end, later, authorOf, ...services } = this.#services
    const decided = DECISIONS[this.#asked++ % DECISIONS.length]
    // What waits at the end is a live call, whose arguments are shown.
    const isOverByEnd = now() + EXPIRE_AFTER_SECONDS * 1000 < end
    if (decided?.verb === undefined && isOverByEnd) return
    const { verb, reason } = decided?.verb === undefined ? DECISIONS[0] : decided
    const author = authorOf(this.#random.pick([ADMIN, EDITOR]), reason)
    const delayMs = (2 + this.#random.integer(10)) * MINUTE_MS
    const decision = { id, verb, now }
    later(delayMs, () =>
      decideAboutApproval({ ...services, usableForSeconds: USABLE_FOR_SECONDS }, decision, author),
    )
    later(delayMs + MINUTE_MS, () => this.#call(call))
  }

  /** Notes calls with the time, the duration and the size that they would have had. */
  #ledger(bytes: number, upstreamMs: number): ToolCallLedger {
    const { now, groups, recordPrompts } = this.#services
    return {
      record: (record, called) => {
        const isSent = SENT.has(record.verdict)
        const argumentsText = { off: undefined, masked: called?.sent, full: called?.received }[recordPrompts]
        this.calls.push({
          ...record,
          time: new Date(now()).toISOString(),
          durationMs: 1 + this.#random.integer(4) + (isSent ? upstreamMs : 0),
          upstreamMs: isSent ? upstreamMs : 0,
          resultBytes: record.resultBytes === 0 ? 0 : Math.round(bytes),
          groups: groups.groupsOf(record.userId),
          ...(argumentsText !== undefined && { argumentsText }),
        })
      },
    }
  }
}

/** A call that is refused, or fails, is recorded like others. */
function ignoreRefusal(error: unknown): undefined {
  if (!GatewayError.isInstance(error) && !(error instanceof RpcError)) throw error
}

/** Returns what a server answers to a call. */
function makeAnswer(tool: string, answer: (typeof ANSWERS)[number]['answer']): Outcome {
  if (answer === 'timeout') throw mcpError('tool_call_timeout', `${tool} did not answer in time.`)
  if (answer === 'error') return { error: { code: -32_603, message: 'Internal error' } }
  const isError = answer === 'tool_error'
  const content = [{ type: 'text', text: isError ? 'Not found.' : 'The result.' }]
  return { result: textResult(JSON.stringify({ content, isError })) }
}

function createUuid(random: Random): string {
  const digits = Array.from({ length: 8 }, () => random.integer(0x1_0000).toString(16).padStart(4, '0'))
  const [a, b, c, d, e, ...rest] = digits
  return [`${a}${b}`, c, d, e, rest.join('')].join('-')
}
