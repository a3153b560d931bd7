import {
  definePlugin,
  type Exchange,
  SharedStateUnavailableError,
  slot,
  Type,
} from '../../core/contract/index.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import {
  appendTurn,
  hasText,
  keyOfCall,
  lacksData,
  type RememberedTurn,
  toRememberedTurns,
  withRemembered,
} from './remembered.ts'
import { type WatchedTurn, watchReply } from './watch-reply.ts'

const options = Type.Object({
  ttl_seconds: Type.Integer({
    minimum: 1,
    maximum: 604_800,
    default: 21_600,
    description: 'How long the reasoning of a reply with tool calls is kept for the next request.',
  }),
})

/** What is known of a conversation when its request has arrived. */
interface Known {
  /** What the client sends back itself: everything, or the texts only. */
  readonly keeps?: 'everything' | 'texts' | undefined
  readonly turns?: readonly RememberedTurn[]
}

const known = slot<Known>('reasoning')

/**
 * Remembers the reasoning of replies with tool calls, and adds it to the next request if its client has not
 * sent it back. See docs/decisions/replies.md, "Reasoning goes back to the provider that issued it".
 */
export default definePlugin({
  name: 'reasoning',
  after: ['auth'],
  before: ['firewall', 'routing', 'cache', 'dispatch'],
  options,
  replay: { type: 'pure' },
  setup({ ttl_seconds }, { store, logger }) {
    function ignoreUnavailable(exchange: Exchange, error: unknown): undefined {
      // The gateway logs when the shared state becomes unavailable.
      if (SharedStateUnavailableError.isInstance(error)) return
      logger.error({ err: error, requestId: exchange.id }, 'reasoning of the conversation unavailable')
    }

    async function recall(exchange: Exchange, key: string, keeps: Known['keeps']): Promise<void> {
      const stored = await store.get(key).catch((error: unknown) => ignoreUnavailable(exchange, error))
      const turns = toRememberedTurns(stored)
      known.set(exchange, { keeps, turns })
      if (turns.length === 0) return
      const { request } = exchange
      exchange.request = { ...request, messages: withRemembered(request.messages, turns) }
    }

    async function save(exchange: Exchange, { call, ...turn }: WatchedTurn): Promise<void> {
      const { turns: earlier = [], keeps } = known.of(exchange) ?? {}
      const needsText = turn.text !== '' && keeps === undefined
      const isEmpty = !needsText && turn.data.every((data) => data.length === 0)
      if (isEmpty && earlier.length === 0) return
      const remembered = appendTurn(earlier, turn)
      if (remembered === undefined) return
      const { account, received } = exchange
      const key = keyOfCall(account.userId, { id: call.id, function: call }, received.messages)
      await store
        .set(key, remembered, ttl_seconds)
        .catch((error: unknown) => ignoreUnavailable(exchange, error))
    }

    return {
      decide(exchange): MaybePromise<void> {
        const { messages } = exchange.request
        const index = messages.findLastIndex(({ tool_calls }) => tool_calls != null && tool_calls.length > 0)
        const message = messages[index]
        const call = message?.tool_calls?.[0]
        if (message === undefined || call === undefined || exchange.isSimulated) return
        if (!lacksData(message)) return known.set(exchange, { keeps: 'everything' })
        const key = keyOfCall(exchange.account.userId, call, messages.slice(0, index))
        return recall(exchange, key, hasText(message) ? 'texts' : undefined)
      },
      reply(exchange, next) {
        const { tools } = exchange.request
        if (tools == null || tools.length === 0 || known.of(exchange)?.keeps === 'everything') return next()
        return next().then((reply) => watchReply(reply, exchange.target, (turn) => save(exchange, turn)))
      },
    }
  },
})
