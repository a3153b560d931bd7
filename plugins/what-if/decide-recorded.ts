import {
  type EndedExchange,
  GatewayError,
  type Host,
  type JsonObject,
  type Operation,
  type ReplyEvent,
} from '../../core/contract/index.ts'
import { decideAgain } from '../../core/pipeline/decide-again.ts'
import { transformWholeReply } from '../../core/pipeline/read-reply.ts'
import type { InspectReply } from '../firewall/index.ts'
import { findRecordedKept, type PromptContent, RecordedKept, type StoredRecord } from '../ledger/index.ts'
import type { CurrentCaller } from './job.ts'
import type { RuleVersion } from './rule-versions.ts'

/**
 * A gateway that decides, of which there are two: a version of the rules is compiled once in each. See
 * docs/decisions/what-if.md, "The plugins decide in a thread".
 */
export interface Decider extends Pick<Host, 'costOf'> {
  /** Runs the phase `decide` of all plugins. */
  readonly decide: Host['decide']
  /** Undefined: response rules are not in force. */
  readonly inspectReply: InspectReply | undefined
}

/** What response rules do to a reply. */
export interface InspectedReply {
  readonly error: GatewayError | undefined
  /** Null if it is refused. */
  readonly text: string | null
}

/** A request about which the rules have decided. */
export class DecidedRequest {
  readonly exchange: EndedExchange
  readonly error: GatewayError | undefined
  readonly #decider: Decider
  #inspected: Promise<InspectedReply> | undefined

  constructor(exchange: EndedExchange, error: GatewayError | undefined, decider: Decider) {
    this.exchange = exchange
    this.error = error
    this.#decider = decider
  }

  /** Applies the response rules once, whoever asks: they add to the trace of the exchange. */
  inspect(event: ReplyEvent): Promise<InspectedReply> {
    this.#inspected ??= this.#inspect(event)
    return this.#inspected
  }

  async #inspect(event: ReplyEvent): Promise<InspectedReply> {
    try {
      // The firewall knows an exchange by its identity.
      const replied = Object.assign(this.exchange, { reply: { type: 'whole' as const, event } })
      const transform = this.#decider.inspectReply?.(replied)
      const inspected = transform ? await transformWholeReply(event, [transform]) : event
      return { error: undefined, text: textOf(inspected) }
    } catch (error) {
      if (GatewayError.isInstance(error)) return { error, text: null }
      throw error
    }
  }
}

function textOf({ parts }: ReplyEvent): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** Decides about a recorded request. Returns undefined if a plugin failed. */
export async function decideRecorded(
  record: StoredRecord,
  { request, preferences, defaulted, headers = {} }: PromptContent,
  caller: CurrentCaller,
  { policies, rules }: RuleVersion,
  decider: Decider,
): Promise<DecidedRequest | undefined> {
  const { requestId, endpoint, keyId } = record
  const { userId, name, plan, position, keys, limits } = caller
  const models = keys.find(({ id }) => id === keyId)?.models
  const account = { userId, name, plan, keyId, position, ...limits, ...(models && { models }) }
  // The parser returns what was recorded: the request in canonical form.
  const parser = {
    parseRequest: () => request,
    parsePreferences: () => preferences,
    defaults: defaulted,
    operation: OPERATIONS.get(endpoint) ?? ('chat' as const),
  }
  const call = { account, requestId, endpoint, headers }
  const snapshot = { account, policies, policyPosition: 0, rules }
  const decide: Decider['decide'] = (exchange) => {
    RecordedKept.set(exchange, findRecordedKept(record))
    return decider.decide(exchange)
  }
  try {
    const { exchange, error } = await decideAgain(parser, NO_BODY, call, snapshot, { decide })
    return new DecidedRequest(exchange, error, decider)
  } catch {
    return undefined
  }
}

const NO_BODY: JsonObject = {}

/** What requests of these endpoints ask a model for. Those of the others are chats. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['/v1/embeddings', 'embeddings'],
  ['/v1/moderations', 'moderation'],
])
