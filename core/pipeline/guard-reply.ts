import type { PluginParts, Reply } from '../contract/index.ts'
import { freezeJson } from '../util/json.ts'
import { runAsGateway } from '../util/plugin-context.ts'
import { checkReply, handled } from './check-reply.ts'
import { freezeReply } from './freeze-reply.ts'
import {
  createPhaseTimer,
  type PluginGuard,
  runExchangePhase,
  runPhase,
  watchCallHeaders,
} from './guard-phase.ts'
import { releaseReply } from './release-reply.ts'

type AnswerRequest = NonNullable<PluginParts['reply']>

/**
 * Wraps `reply` of a plugin package: it may call `next` once and must return a reply. The reply of `next` is
 * released if the plugin does not return it. The time for `next` and its stream, which have timeouts of their
 * own, is not that of the plugin.
 */
export function guardReply(reply: AnswerRequest, guard: PluginGuard): AnswerRequest {
  return (exchange, next) => {
    const { client } = exchange
    const timer = createPhaseTimer(guard, 'reply', client)
    let inner: Promise<Reply> | undefined
    let received: { readonly reply: Reply; readonly shown: Reply } | undefined
    let isEnded = false
    const checkHeaders = watchCallHeaders(exchange, guard)

    function callNext(): Promise<Reply> {
      if (inner !== undefined || isEnded) {
        const issue = inner === undefined ? 'after reply had ended' : 'more than once, in reply'
        return handled(Promise.reject(new Error(`${guard.title} called next() ${issue}`)))
      }
      checkHeaders()
      freezeJson(exchange.request)
      inner = timer
        .exclude(() => runAsGateway(next))
        .then((reply) => {
          received = { reply, shown: freezeReply(reply, (nextBatch) => timer.exclude(nextBatch)) }
          if (isEnded) releaseReply(reply)
          return received.shown
        })
      return handled(inner)
    }

    function check(result: Reply): Reply {
      if (received !== undefined) {
        const { reply, shown } = received
        if (result === shown) return reply
        client.onClose(() => releaseReply(reply))
      }
      return checkReply(result, `the reply of ${guard.title}`, (nextBatch) =>
        runPhase(guard, 'reply', client, nextBatch, timer),
      )
    }

    const answer = async () => check(await reply(exchange, callNext))
    return Promise.resolve(runExchangePhase(guard, 'reply', exchange, answer, timer)).finally(() => {
      isEnded = true
    })
  }
}
