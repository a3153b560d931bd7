import {
  definePlugin,
  type Exchange,
  optional,
  type RepliedExchange,
  type ReplyEvent,
  type ReplyPart,
  type ReplyTransform,
  settingsOf,
} from '../../core/contract/index.ts'
import { toReplyRequest, withMaskedTexts } from '../../core/inspection/reply-request.ts'
import { hasTokenIds } from '../../core/inspection/request-texts.ts'
import { blockedError, createGuardrail, GUARDRAIL_ERROR_CODES, type Guardrail } from './guardrail.ts'
import { type GuardrailOptions, guardrailOptions } from './options.ts'

/** Asks an external service about requests and replies (docs/guides/guardrail-webhook.md). */
export default definePlugin({
  name: 'guardrail-webhook',
  // It sees what the firewall has masked, and nothing of what it has blocked.
  after: ['firewall'],
  before: ['routing', 'dispatch', 'decorate'],
  options: guardrailOptions,
  replay: {
    type: 'not',
    why: 'The external guardrail is not called in simulations; it may block or mask the request.',
  },
  uses: { secret: optional(settingsOf<string | null>('guardrail_secret')) },
  setup(options: GuardrailOptions, { use, logger, metrics }) {
    const guardrail = createGuardrail(options, use.secret ?? undefined, logger, metrics)
    return {
      errorCodes: GUARDRAIL_ERROR_CODES,
      ...(options.phases.includes('request') && {
        decide: (exchange) => checkRequest(exchange, guardrail),
      }),
      ...(options.phases.includes('reply') && {
        inspect: (exchange) => inspectReply(exchange, guardrail, options.max_request_bytes),
      }),
      close: () => guardrail.close(),
    }
  },
})

async function checkRequest(exchange: Exchange, guardrail: Guardrail): Promise<void> {
  // The caller chooses the form of the input, so `on_failure` does not apply.
  if (hasTokenIds(exchange.request))
    throw blockedError('request', 'Token ids cannot be checked. Send the input as text.')
  exchange.request = await guardrail.check('request', exchange.request, exchange)
}

/** Replies are checked as a whole: streams are held until their end. */
function inspectReply(exchange: RepliedExchange, guardrail: Guardrail, maxLength: number): ReplyTransform {
  const held: ReplyEvent[] = []
  let length = 0
  let isUnchecked = false

  async function checkHeld(): Promise<readonly ReplyEvent[]> {
    const [first] = held
    if (first === undefined || isUnchecked) return []
    const parts = held.flatMap((event) => event.parts)
    const request = toReplyRequest(parts)
    const checked = await guardrail.check('reply', request, exchange)
    // Without the provider's own records, whose other fields were not checked.
    if (checked === request) return held.map((event) => event.withParts(event.parts))
    return [first.withParts(withMaskedTexts(parts, checked))]
  }

  return {
    transform(event) {
      if (isUnchecked) return [event]
      held.push(event)
      length += lengthOf(event.parts)
      if (length <= maxLength) return []
      guardrail.skip('reply', exchange, `the reply is longer than ${maxLength} characters`)
      isUnchecked = true
      return held.splice(0)
    },
    flush: checkHeld,
  }
}

function lengthOf(parts: readonly ReplyPart[]): number {
  return parts.reduce((sum, part) => {
    if ('text' in part) return sum + part.text.length
    if (part.type === 'extra') return sum + JSON.stringify(part.content).length
    return part.type === 'tool-json' ? sum + part.json.length : sum
  }, 0)
}
