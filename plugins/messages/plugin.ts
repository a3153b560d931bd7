import type { Account, Plugin } from '../../core/contract/index.ts'
import { messagesDialect } from '../../core/dialects/messages/dialect.ts'
import type { CallerSnapshot } from '../../core/pipeline/inference.ts'
import type { TokenCounter } from '../../providers/shared/token-counter.ts'
import { createCountTokensEndpoint } from './count-tokens.ts'

/** Anthropic's Messages API: serves `POST /v1/messages` and `POST /v1/messages/count_tokens`. */
export function createMessages(
  snapshotCaller: (account: Account) => CallerSnapshot,
  counter: TokenCounter,
): Plugin {
  return {
    name: 'messages',
    after: ['auth'],
    setup: (_, host) => ({
      dialects: { '/v1/messages': messagesDialect },
      endpoints: [createCountTokensEndpoint(snapshotCaller, host, counter)],
      close: () => counter.close(),
    }),
  }
}
