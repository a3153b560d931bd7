import { definePlugin } from '../../core/contract/index.ts'
import { Callers } from '../../projections/callers.ts'
import { TokenCounter } from '../../providers/shared/token-counter.ts'
import { createCountTokensEndpoint } from './count-tokens.ts'
import { messagesDialect } from './dialect.ts'

/** Anthropic's Messages API: serves `POST /v1/messages` and `POST /v1/messages/count_tokens`. */
export default definePlugin({
  name: 'messages',
  after: ['auth'],
  uses: { callers: Callers, counter: TokenCounter },
  setup: (_, host) => ({
    dialects: { '/v1/messages': messagesDialect },
    endpoints: [createCountTokensEndpoint(host.use.callers, host, host.use.counter)],
    close: () => host.use.counter.close(),
  }),
})
