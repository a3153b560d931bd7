import type { Logger } from 'pino'
import {
  type EndedExchange,
  GatewayError,
  type Host,
  type RepliedExchange,
  type Reply,
  type Route,
  type Target,
} from '../../core/contract/index.ts'
import type { RequestsInFlight } from '../../core/http/client-connection.ts'
import { readReply } from '../../core/pipeline/read-reply.ts'
import { recordUnreadCost } from '../../core/pipeline/usage-recorder.ts'
import type { Budgets } from '../budget/index.ts'
import type { Ledger } from '../ledger/index.ts'
import { CopyConnection, copyExchange } from './copy.ts'

export const COPY_OUTCOMES = [
  'answered',
  'failed',
  'aborted',
  'dropped',
  'over_budget',
  'unavailable',
] as const

export type CopyOutcome = (typeof COPY_OUTCOMES)[number]

export interface CopyServices extends Pick<Host, 'costOf'> {
  /** Sends a copy to the target of its route. Rejects with a `GatewayError`. */
  dispatch(exchange: EndedExchange, route: Route): Promise<Reply>
  /** False while the circuit of the model is open. */
  isUsable(target: Target, userId: number): boolean
  readonly ledger: Pick<Ledger, 'recordCopy'>
  readonly budgets: Pick<Budgets, 'reserveCopy' | 'settleCopy'> | undefined
  readonly requests: Pick<RequestsInFlight, 'add' | 'delete'>
  readonly maxConcurrent: number
  readonly count: (outcome: CopyOutcome) => void
  /** Called once for each copy that was sent, when its cost is known. */
  readonly countCost: (exchange: EndedExchange) => void
  readonly logger: Logger
}

/** The longest time that a copy takes one of the places. */
const MAX_COPY_MS = 600_000

/**
 * Sends copies of answered requests to other models, reads the replies, and drops them. See
 * docs/decisions/routing.md, "Copies are sent when the response has ended".
 */
export class ShadowCopies {
  readonly #services: CopyServices
  #inFlight = 0

  constructor(services: CopyServices) {
    this.#services = services
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Returns immediately. A copy for which there is no place is dropped: a queue would hold prompts. */
  send(exchange: EndedExchange, target: Target): void {
    const { count, isUsable, maxConcurrent, requests, logger } = this.#services
    const isFull = this.#inFlight >= maxConcurrent
    if (isFull || !isUsable(target, exchange.account.userId)) {
      count(isFull ? 'dropped' : 'unavailable')
      return
    }
    const client = new CopyConnection()
    this.#inFlight += 1
    requests.add(client)
    void this.#run(copyExchange(exchange, target, client), client)
      .catch((err: unknown) => logger.error({ err, requestId: exchange.id }, 'copy failed'))
      .finally(() => {
        this.#inFlight -= 1
        requests.delete(client)
      })
  }

  async #run(exchange: EndedExchange, client: CopyConnection): Promise<void> {
    const { ledger, budgets, count, countCost, costOf } = this.#services
    try {
      await budgets?.reserveCopy(exchange)
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      count(client.isAborted ? 'aborted' : 'over_budget')
      return
    }
    const timeout = setTimeout(() => client.abort(new Error('the copy took too long')), MAX_COPY_MS).unref()
    let error: unknown
    try {
      await this.#read(exchange)
    } catch (thrown) {
      error = thrown
      recordUnreadCost(exchange, costOf)
    }
    clearTimeout(timeout)
    client.close()
    countCost(exchange)
    budgets?.settleCopy(exchange)
    ledger.recordCopy(exchange, error)
    count(error === undefined ? 'answered' : client.isAborted ? 'aborted' : 'failed')
  }

  async #read(exchange: EndedExchange & { reply?: Reply }): Promise<void> {
    const { route } = exchange
    if (route === undefined) throw new TypeError('a copy has no route')
    const reply = await this.#services.dispatch(exchange, route)
    exchange.reply = reply
    const read = await readReply(exchange as RepliedExchange, reply, [], this.#services.costOf)
    if (read.type === 'whole') return
    for await (const _ of read.batches) {
      // Reading records the usage and the time.
    }
  }
}
